/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_owner.c - see frame_owner.h.
 */
#include "model/stack/frame_owner.h"

#include <string.h>

#include "model/stack/frame_rules.h"

/* Is it a shared library by its name: "libz.so", "libz.so.1.2", "libz.so.1 (deleted)"? */
static bool is_shared_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	for (const char *s = base; (s = strstr(s, ".so")); s++) {
		if (s > base && strchr(". (", s[3]))
			return true;
	}
	return base[0] == '['; /* [vdso] */
}

enum hl_frame_owner hl_model_frame_owner(const struct hl_model *m, const struct hl_frame *f)
{
	const char *program = hl_model_info(m)->meta.program;

	if (f->group)
		return HL_OWNER_GROUP;
	if (f->fold)
		f = hl_model_frame(m, f->run_of);
	if (!f->module && !f->file)
		return f->function[0] == '[' ? HL_OWNER_UNKNOWN : HL_OWNER_CALLED;
	if (hl_frame_kind_by_name(f, NULL) != HL_FRAME_OWN)
		return HL_OWNER_RUNTIME;
	if (f->module && !(program && strcmp(f->module, program) == 0) &&
		is_shared_library(f->module))
		return HL_OWNER_LIBRARY;
	return HL_OWNER_PROGRAM;
}

const char *hl_frame_owner_name(enum hl_frame_owner owner)
{
	static const char *const names[] = {
		[HL_OWNER_PROGRAM] = "program",
		[HL_OWNER_LIBRARY] = "library",
		[HL_OWNER_CALLED] = "called",
		[HL_OWNER_UNKNOWN] = "unknown",
		[HL_OWNER_GROUP] = "group",
		[HL_OWNER_RUNTIME] = "runtime",
	};

	return names[owner];
}
