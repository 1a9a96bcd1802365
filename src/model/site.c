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
	"std::", "__gnu_cxx::", "operator new",
	"alloc::", "core::", "<alloc::", "<core::", "<std::", "__rust_alloc", "__rust_realloc",
	"__rdl_", "__rg_", "[...]", /* where a stack was cut */
};

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
	size_t n = name[0] == '<' ? 0 : strcspn(name, "<(");

	if (strncmp(name, "operator ", 9) == 0)
		return name;
	while (n > 0 && name[n - 1] != ' ')
		n--;
	return name + n;
}

static bool is_program(const struct hl_frame *f)
{
	const char *base = f->module ? strrchr(f->module, '/') : NULL;

	if (f->module && begins(base ? base + 1 : f->module, modules, HL_ARRAY_LEN(modules)))
		return false;
	return !begins(without_return(f->function), functions, HL_ARRAY_LEN(functions));
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
			if (is_program(hl_model_frame(m, refs[n].frame))) {
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
