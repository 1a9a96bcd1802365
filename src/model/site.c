/*
 * site.c - the frame that an allocation is known by; see hl_model_site in group.h.
 *
 * A program that builds strings allocates in libstdc++, one that opens files in libc: who asked for
 * it is the first frame that somebody wrote for this program.
 */
#include <string.h>

#include "base/attr.h"
#include "model/group.h"
#include "model/model_internal.h"

/* Beginnings of the last part of a path. */
static const char *const modules[] = {
	"libc.so",
	"libc-2",
	"libstdc++.so",
	"libc++.so",
	"libc++abi.so",
	"libgcc_s.so",
	"libm.so",
	"libpthread",
	"libdl.so",
	"ld-linux",
	"ld-musl",
	"ld.so",
	"libjemalloc",
	"libtcmalloc",
	"libmimalloc",
	"libheaplapse.so",
	"libmvec.so",
	"librt.so",
};

/* Beginnings of functions' names, after what they return. */
static const char *const functions[] = {
	"std::", "__gnu_cxx::", "operator new", "__rust_alloc", "__rust_realloc",
	"__rustc::", "__rdl_", "__rg_", "[...]", /* where a stack was cut */
};

/* The same for Rust alone: C++ programs have such namespaces of their own. */
static const char *const crates[] = {"alloc::", "core::", "std::", "hashbrown::"};

static bool begins(const char *s, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(s, with[i], strlen(with[i])) == 0)
			return true;
	}
	return false;
}

/* Instances of templates are named with what they return: "void std::sort<int*>(...)". */
static const char *without_return(const char *name)
{
	const char *start = name;
	size_t depth = 0;

	for (const char *s = name; *s; s++) {
		if (depth == 0 && (s == start || s[-1] == ':') && strncmp(s, "operator", 8) == 0)
			break;
		if (depth == 0 && *s == '(' && strncmp(s, "(anonymous namespace)", 21) != 0)
			break;
		if (strchr("<([{", *s))
			depth++;
		else if (strchr(">)]}", *s))
			depth -= depth > 0;
		else if (*s == ' ' && depth == 0)
			start = s + 1;
	}
	return start;
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && strcmp(s + n - m, with) == 0;
}

/* Headers of the C++ library, sources of Rust's and of the crate that its maps are made of. */
static bool is_library_file(const char *file)
{
	const char *root = strstr(file, "/rustc");

	if (strstr(file, "/include/") && strstr(file, "/c++/"))
		return true;
	if (!root)
		root = strstr(file, "/rustlib/");
	return ends(file, ".rs") &&
	       ((root && strstr(root, "/library/")) || strstr(file, "/hashbrown-"));
}

/* "<T as alloc::x::Trait>::f" is of the trait's crate, "<alloc::x::Type>::f" of the type's. Where
 * the file is known it says whose code it is: traits of core are for programs to implement. */
static bool is_rust_library(const struct hl_frame *f)
{
	const char *name = f->function, *as = NULL;
	size_t depth = 0;

	if (name[0] != '<')
		return begins(name, crates, HL_ARRAY_LEN(crates)) &&
		       (!f->file || ends(f->file, ".rs"));
	if (f->file)
		return false;
	for (const char *s = name; *s && !as; s++) {
		depth += *s == '<';
		depth -= *s == '>' && s[-1] != '-' && depth > 0;
		if (depth == 0)
			break;
		if (depth == 1 && strncmp(s, " as ", 4) == 0)
			as = s + 4;
	}
	return begins(as ? as : name + 1, crates, HL_ARRAY_LEN(crates));
}

bool hl_frame_is_program(const struct hl_frame *f)
{
	const char *base = f->module ? strrchr(f->module, '/') : NULL;

	if (f->module && begins(base ? base + 1 : f->module, modules, HL_ARRAY_LEN(modules)))
		return false;
	if (f->file && is_library_file(f->file))
		return false;
	return !begins(without_return(f->function), functions, HL_ARRAY_LEN(functions)) &&
	       !is_rust_library(f);
}

int hl_model_site(struct hl_model *m, uint32_t node, uint32_t *frame)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(m, node, &refs, &n);

	if (err)
		return err;
	*frame = refs[n - 1].frame;
	for (;;) {
		while (n-- > 0) {
			if (hl_frame_is_program(hl_model_frame(m, refs[n].frame))) {
				*frame = refs[n].frame;
				return 0;
			}
		}
		node = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(m, node);
		if (node == HL_NODE_NONE)
			return 0;
		err = hl_model_node_frames(m, node, &refs, &n);
		if (err)
			return err;
	}
}
