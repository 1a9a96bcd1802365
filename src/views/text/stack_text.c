/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_text.c - one stack with all its frames.
 */
#include <inttypes.h>

#include "model/stack/runtime_frames.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

struct line_printer {
	FILE *out;
	const char *before;
	struct hl_strbuf text;
};

static void put_line(void *arg, const struct hl_frame *f, bool inlined)
{
	struct line_printer *l = arg;

	hl_strbuf_reset(&l->text);
	hl_text_escape(&l->text, f->function);
	if (f->file) {
		hl_strbuf_puts(&l->text, "  ");
		hl_text_escape(&l->text, f->file);
		if (f->line)
			hl_strbuf_printf(&l->text, ":%" PRIu32, f->line);
	} else if (f->module) {
		hl_strbuf_puts(&l->text, "  [");
		hl_text_escape(&l->text, f->module);
		hl_strbuf_puts(&l->text, "]");
	}
	fprintf(l->out, "%s%s%s\n", l->before, hl_strbuf_str(&l->text),
		inlined ? "  (inlined)" : "");
}

int hl_text_stack(FILE *out, struct hl_model *m, uint32_t node, const char *before)
{
	struct line_printer l = {.out = out, .before = before};
	int err = hl_model_each_frame(m, node, NULL, put_line, &l);

	hl_strbuf_fini(&l.text);
	return err;
}
