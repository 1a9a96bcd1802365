/*
 * notes.c - why there are numbers where names or lines should be, and what would help.
 */
#include <string.h>

#include "util/strbuf.h"
#include "util/text.h"
#include "views/text/text.h"

/* More would hide what the report is about. */
#define NOTES_MAX 5

/* apt does not find these until it is told where they are. */
static bool needs_archive(const char *advice)
{
	return strstr(advice, "-dbgsym") != NULL;
}

void hl_text_notes(FILE *out, struct hl_model *m)
{
	struct hl_strbuf b = {0};
	bool archive = false;
	size_t n = 0;

	for (size_t i = 0; i < hl_model_n_notes(m); i++) {
		const char *path, *note, *advice;

		hl_model_note(m, i, &path, &note);
		if (!note[0] || n++ >= NOTES_MAX)
			continue;
		hl_strbuf_puts(&b, b.len ? "  " : "\nnames:\n  ");
		hl_text_escape(&b, path);
		hl_strbuf_puts(&b, ": ");
		hl_text_escape(&b, note); /* it may have a path */
		advice = hl_model_advice(m, i);
		archive |= needs_archive(advice);
		hl_strbuf_printf(&b, advice[0] ? " (%s)\n" : "%s\n", advice);
	}
	if (n > NOTES_MAX)
		hl_strbuf_printf(&b, "  and %zu more\n", n - NOTES_MAX);
	if (archive)
		hl_strbuf_puts(&b, "  -dbgsym packages are in Debian's debug archive: "
				   "heaplapse-report(1), SYMBOLS\n");
	fputs(hl_strbuf_str(&b), out);
	hl_strbuf_fini(&b);
}
