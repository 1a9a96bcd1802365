/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapsed.c - one line for each stack, "main;parse;malloc 4096", the input format of
 * flamegraph.pl.
 *
 * The outermost frame is first. Stacks with cost 0 have no line, because they would have no width.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/safe_text.h"
#include "views/export/export_internal.h"

/* A semicolon would begin the next frame, so it becomes a colon. */
static void put_text(struct hl_strbuf *line, const char *text)
{
	size_t from = line->len;

	hl_text_escape(line, text);
	for (size_t i = from; i < line->len; i++) {
		if (line->data[i] == ';')
			line->data[i] = ':';
	}
}

static void put_name(struct hl_strbuf *line, const struct hl_frame *f)
{
	struct hl_strbuf name = {0};

	hl_export_name(&name, f);
	put_text(line, hl_strbuf_str(&name));
	hl_strbuf_fini(&name);
}

static int put_stack(struct hl_export_job *x, const struct hl_tree *t, uint32_t node,
	struct hl_export_path *path, struct hl_strbuf *line)
{
	uint64_t cost = hl_export_cost(x, &t->nodes[node].self);
	int err = cost ? hl_export_path(path, t, node) : 0;

	if (err || !cost)
		return err;
	hl_strbuf_reset(line);
	if (x->process)
		put_text(line, x->process);
	for (size_t i = 0; i < path->len; i++) {
		if (line->len > 0)
			hl_strbuf_putc(line, ';');
		put_name(line, hl_model_frame(x->m, t->nodes[path->nodes[i]].frame));
	}
	hl_strbuf_printf(line, " %" PRIu64 "\n", cost);
	fwrite(line->data, 1, line->len, x->out);
	return hl_strbuf_error(line);
}

int hl_export_collapsed(struct hl_export_job *x)
{
	struct hl_export_path path = {0};
	struct hl_strbuf line = {0};
	struct hl_answer a;
	struct hl_tree t;
	int err = hl_export_tree(x, true, &a, &t);

	for (uint32_t i = 1; i < t.n_nodes && !err && !ferror(x->out); i++)
		err = put_stack(x, &t, i, &path, &line);
	free(path.nodes);
	hl_strbuf_fini(&line);
	hl_tree_fini(&t);
	hl_answer_fini(&a);
	return err;
}
