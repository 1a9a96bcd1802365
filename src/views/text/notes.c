/*
 * notes.c - why there are numbers where names or lines should be.
 */
#include "util/strbuf.h"
#include "util/text.h"
#include "views/text/text.h"

void hl_text_notes(FILE *out, struct hl_model *m)
{
	struct hl_strbuf b = {0};

	for (size_t i = 0; i < hl_model_n_notes(m); i++) {
		const char *path, *note;

		hl_model_note(m, i, &path, &note);
		if (!note[0])
			continue;
		hl_strbuf_puts(&b, b.len ? "  " : "\nnames:\n  ");
		hl_text_escape(&b, path);
		hl_strbuf_printf(&b, ": %s\n", note);
	}
	fputs(hl_strbuf_str(&b), out);
	hl_strbuf_fini(&b);
}
