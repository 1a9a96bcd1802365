/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_kind.c - whose code a frame is, for the colours of pictures; see export_internal.h.
 */
#include "model/stack/frame_rules.h"
#include "views/export/export_internal.h"

/* Is it a shared library by its name: "libz.so", "libz.so.1.2", "libz.so.1 (deleted)"? */
static bool is_shared_library(const char *path)
{
	const char *base = hl_export_basename(path);

	for (const char *s = base; (s = strstr(s, ".so")); s++) {
		if (s > base && strchr(". (", s[3]))
			return true;
	}
	return base[0] == '['; /* [vdso] */
}

enum hl_export_frame_kind hl_export_frame_kind(
	const struct hl_export_job *x, const struct hl_frame *f)
{
	const char *program = hl_model_info(x->m)->meta.program;

	if (f->group)
		return HL_EXPORT_FRAME_GROUP;
	if (f->fold)
		f = hl_model_frame(x->m, f->run_of);
	if (!f->module && !f->file)
		return f->function[0] == '[' ? HL_EXPORT_FRAME_UNKNOWN : HL_EXPORT_FRAME_CALLED;
	if (hl_frame_kind_by_name(f, NULL) != HL_FRAME_OWN)
		return HL_EXPORT_FRAME_RUNTIME;
	if (f->module && !(program && strcmp(f->module, program) == 0) &&
		is_shared_library(f->module))
		return HL_EXPORT_FRAME_LIBRARY;
	return HL_EXPORT_FRAME_OWN;
}
