/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_text.c - one stack with all its frames.
 */
#include <inttypes.h>

#include "util/safe_text.h"
#include "views/text/text_internal.h"

typedef void frame_fn(void *arg, const struct hl_frame *f, bool inlined);

/* Calls `put` for each frame, innermost first. */
static int for_each_frame(struct hl_model *m, uint32_t node, frame_fn *put, void *arg)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err;

	do {
		err = hl_model_node_frames(m, node, &refs, &n);
		while (n-- > 0 && !err)
			put(arg, hl_model_frame(m, refs[n].frame), refs[n].inlined);
		node = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(m, node);
	} while (node != HL_NODE_NONE && !err);
	return err;
}

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
	int err = for_each_frame(m, node, put_line, &l);

	hl_strbuf_fini(&l.text);
	return err;
}

static void put_object(void *arg, const struct hl_frame *f, bool inlined)
{
	struct hl_json *j = arg;

	hl_json_begin_object(j);
	hl_json_frame(j, f);
	hl_json_key_bool(j, "inlined", inlined);
	hl_json_end_object(j);
}

int hl_json_stack(struct hl_json *j, struct hl_model *m, uint32_t node)
{
	int err = 0;

	hl_json_begin_array(j);
	if (node != HL_NODE_NONE)
		err = for_each_frame(m, node, put_object, j);
	hl_json_end_array(j);
	return err;
}
