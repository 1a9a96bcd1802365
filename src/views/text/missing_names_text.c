/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing_names_text.c - why some frames have addresses instead of names or lines, and what would
 * help.
 */
#include <string.h>

#include "util/strbuf.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

/* More notes would distract from the report itself. */
#define NOTES_MAX 5

/* apt finds these packages only if the debug archive is configured. */
static bool needs_archive(const char *advice)
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

void hl_text_missing_names(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	bool archive = false;
	size_t n = 0;

	for (size_t i = 0; i < hl_model_n_module_notes(m); i++) {
		const char *path, *note, *advice;

		hl_model_module_note(m, i, &path, &note);
		if (!note[0] || n++ >= NOTES_MAX)
			continue;
		if (n == 1)
			fputs("\nnames:\n", out);
		advice = hl_model_advice(m, i);
		archive |= needs_archive(advice);
		put_note(out, path, note, advice, opts);
	}
	if (n > NOTES_MAX)
		fprintf(out, "  and %zu more\n", n - NOTES_MAX);
	if (archive)
		hl_put_wrapped(out,
			"  -dbgsym packages are in Debian's debug archive; see SYMBOLS in "
			"heaplapse-report(1)",
			HL_STYLE_PLAIN, 4, opts);
}
