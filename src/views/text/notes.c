/*
 * notes.c - why there are numbers where names or lines should be, and what would help.
 */
#include <string.h>

#include "util/strbuf.h"
#include "util/text.h"
#include "views/text/text_internal.h"

/* More would hide what the report is about. */
#define NOTES_MAX 5

/* apt does not find these until it is told where they are. */
static bool needs_archive(const char *advice)
{
	return strstr(advice, "-dbgsym") != NULL;
}

/* "/lib/libfoo.so: why (what helps)" */
static void put_note(FILE *out, const char *path, const char *note, const char *advice,
	const struct hl_text_opts *opts)
{
	struct hl_strbuf b = {0};

	hl_strbuf_puts(&b, "  ");
	hl_text_escape(&b, path);
	hl_strbuf_puts(&b, ": ");
	hl_text_escape(&b, note); /* it may have a path */
	hl_strbuf_printf(&b, advice[0] ? " (%s)" : "%s", advice);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 4, opts);
	hl_strbuf_fini(&b);
}

void hl_text_notes(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	bool archive = false;
	size_t n = 0;

	for (size_t i = 0; i < hl_model_n_notes(m); i++) {
		const char *path, *note, *advice;

		hl_model_note(m, i, &path, &note);
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
			"  -dbgsym packages are in Debian's debug archive: heaplapse-report(1), "
			"SYMBOLS",
			HL_STYLE_PLAIN, 4, opts);
}
