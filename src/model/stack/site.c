/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.c - the frame that an allocation is attributed to; see hl_model_find_site in flat_table.h.
 *
 * A program that builds strings allocates in libstdc++, one that opens files allocates in libc. The
 * interesting frame is the first one that was written for this program.
 */
#include <string.h>

#include "base/attr.h"
#include "model/stack/flat_table.h"
#include "model/model_internal.h"

/* Prefixes of module file names. */
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

/* Prefixes of function names, after the return type. */
static const char *const functions[] = {
	"std::", "__gnu_cxx::", "operator new", "__rust_alloc", "__rust_realloc",
	"__rustc::", "__rdl_", "__rg_", "[...]", /* a truncated stack */
};

/* Prefixes that count only in Rust code: C++ programs have namespaces with these names. */
static const char *const crates[] = {"alloc::", "core::", "std::", "hashbrown::"};

static bool has_prefix_of(const char *s, const char *const *prefixes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strncmp(s, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* Skips the return type, which demangled names of template instances have: "void
 * std::sort<int*>(...)". */
static const char *skip_return_type(const char *name)
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

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

/* Headers of the C++ library, sources of the Rust library and of hashbrown, the crate that
 * implements its maps. */
static bool is_library_file(const char *file)
{
	const char *root = strstr(file, "/rustc");

	if (strstr(file, "/include/") && strstr(file, "/c++/"))
		return true;
	if (!root)
		root = strstr(file, "/rustlib/");
	return has_suffix(file, ".rs") &&
	       ((root && strstr(root, "/library/")) || strstr(file, "/hashbrown-"));
}

/* "<T as alloc::x::Trait>::f" belongs to the trait's crate, "<alloc::x::Type>::f" to the type's
 * crate. If the file is known, the file decides: programs implement traits of core. */
static bool is_rust_library(const struct hl_frame *f)
{
	const char *name = f->function, *as = NULL;
	size_t depth = 0;

	if (name[0] != '<')
		return has_prefix_of(name, crates, HL_ARRAY_LEN(crates)) &&
		       (!f->file || has_suffix(f->file, ".rs"));
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
	return has_prefix_of(as ? as : name + 1, crates, HL_ARRAY_LEN(crates));
}

bool hl_frame_is_own_code(const struct hl_frame *f)
{
	const char *base = f->module ? strrchr(f->module, '/') : NULL;

	if (f->module && has_prefix_of(base ? base + 1 : f->module, modules, HL_ARRAY_LEN(modules)))
		return false;
	if (f->file && is_library_file(f->file))
		return false;
	return !has_prefix_of(skip_return_type(f->function), functions, HL_ARRAY_LEN(functions)) &&
	       !is_rust_library(f);
}

int hl_model_find_site(struct hl_model *m, uint32_t node, uint32_t *frame)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(m, node, &refs, &n);

	if (err)
		return err;
	*frame = refs[n - 1].frame;
	for (;;) {
		while (n-- > 0) {
			if (hl_frame_is_own_code(hl_model_frame(m, refs[n].frame))) {
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
