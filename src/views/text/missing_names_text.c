/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing_names_text.c - why some frames have addresses instead of names or lines, and what would
 * help.
 */
#include <string.h>

#include "model/stack/runtime_frames.h"
#include "util/strbuf.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

/* More notes would distract from the report itself. */
#define NOTES_MAX 3

bool hl_text_needs_debug_archive(const char *advice)
{
	return strstr(advice, "-dbgsym") != NULL;
}

/* Prints "/lib/libfoo.so: reason (advice)". */
static void put_note(FILE *out, const char *path, const char *note, const char *advice,
	const struct hl_text_opts *opts)
{
	struct hl_strbuf b = {0};

	hl_strbuf_puts(&b, "  ");
	hl_text_escape(&b, path);
	hl_strbuf_puts(&b, ": ");
	hl_text_escape(&b, note); /* it may contain a path */
	hl_strbuf_printf(&b, advice[0] ? " (%s)" : "%s", advice);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 4, opts);
	hl_strbuf_fini(&b);
}

/* --- which modules were shown --- */

static bool contains_path(const struct hl_shown_modules *s, const char *path)
{
	for (size_t i = s->paths.len; i > 0; i--) {
		if (s->paths.data[i - 1] == path) /* the model has each string once */
			return true;
	}
	return false;
}

void hl_note_shown_frame(const struct hl_frame *f, const struct hl_text_opts *opts)
{
	if (opts->shown && f->module && !contains_path(opts->shown, f->module))
		hl_vec_push(&opts->shown->paths, f->module);
}

static void note_frame(void *arg, const struct hl_frame *f, bool inlined)
{
	hl_note_shown_frame(f, arg);
}

void hl_note_shown_stack(struct hl_model *m, uint32_t node, const struct hl_text_opts *opts)
{
	struct hl_text_opts copy = *opts;

	if (opts->shown)
		hl_model_each_frame(m, node, NULL, note_frame, &copy);
}

/* --- the list --- */

void hl_text_missing_names(FILE *out, struct hl_model *m, bool all, const struct hl_text_opts *opts)
{
	bool archive = false;
	size_t n = 0;

	for (size_t i = 0; i < hl_model_n_module_notes(m); i++) {
		const char *path, *note, *advice;

		hl_model_module_note(m, i, &path, &note);
		if (!note[0] || (!all && opts->shown && !contains_path(opts->shown, path)))
			continue;
		if (n++ >= NOTES_MAX && !all)
			continue;
		if (n == 1)
			fputs("\nnames:\n", out);
		advice = hl_model_advice(m, i);
		archive |= hl_text_needs_debug_archive(advice);
		put_note(out, path, note, advice, opts);
	}
	if (n > NOTES_MAX && !all)
		fprintf(out, "  and %zu more module%s; --verbose lists all\n", n - NOTES_MAX,
			n - NOTES_MAX == 1 ? "" : "s");
	if (archive)
		hl_put_wrapped(out, "  " HL_TEXT_DEBUG_ARCHIVE, HL_STYLE_PLAIN, 4, opts);
}
