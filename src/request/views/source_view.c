/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_view.c - the lines of a source file, with the blocks that have them in their stacks.
 *
 * Without the option for the whole file: the lines with blocks, some lines around each, and what is
 * between two lines of one function.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "request/result.h"

#define AROUND       3  /* lines before and after a line with blocks */
#define AROUND_ASKED 15 /* before and after the line that was asked for */
#define FUNCTION_MAX 40 /* at most so far apart are two lines that are shown with all between */

const struct hl_source_line *hl_source_result_line(const struct hl_source_result *x, size_t line)
{
	size_t lo = 0, hi = x->lines.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->lines.lines[mid].line < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->lines.n && x->lines.lines[lo].line == line ? &x->lines.lines[lo] : NULL;
}

/* The last line of the text, or a later one that has blocks: the file may have changed. */
static size_t last_line(const struct hl_source_result *x)
{
	size_t n = hl_source_text_n_lines(&x->lines.text);

	return x->lines.n > 0 && x->lines.lines[x->lines.n - 1].line > n
		       ? x->lines.lines[x->lines.n - 1].line
		       : n;
}

static struct hl_source_range around(const struct hl_source_result *x, size_t line, size_t n)
{
	size_t last = hl_source_text_n_lines(&x->lines.text);
	struct hl_source_range r = {.from = line > n ? line - n : 1, .to = line + n};

	if (!x->lines.text.path || line == 0 || line > last)
		return (struct hl_source_range){line, line}; /* there is no text */
	r.to = r.to < last ? r.to : last;
	return r;
}

static bool joins(const struct hl_source_result *x, size_t i, const struct hl_source_range *before,
	const struct hl_source_range *r)
{
	const struct hl_source_line *a = &x->lines.lines[i - 1], *b = &x->lines.lines[i];

	if (r->from <= before->to + 1)
		return true;
	return x->lines.text.path && a->line > 0 && b->line - a->line <= FUNCTION_MAX &&
	       a->function && b->function && strcmp(a->function, b->function) == 0;
}

static void find_ranges(struct hl_source_result *x)
{
	for (size_t i = 0; i < x->lines.n; i++) {
		struct hl_source_range r = around(x, x->lines.lines[i].line, AROUND);
		struct hl_source_range *before =
			x->n_ranges > 0 ? &x->ranges[x->n_ranges - 1] : NULL;

		if (before && joins(x, i, before, &r))
			before->to = r.to > before->to ? r.to : before->to;
		else
			x->ranges[x->n_ranges++] = r;
	}
}

static int choose_lines(struct hl_source_result *x, const struct hl_request *q)
{
	x->ranges = calloc(x->lines.n + 1, sizeof(*x->ranges));
	if (!x->ranges)
		return -ENOMEM;
	if (q->source.whole && x->lines.text.path)
		x->ranges[x->n_ranges++] = (struct hl_source_range){1, last_line(x)};
	else if (q->source.line)
		x->ranges[x->n_ranges++] = around(x, q->source.line, AROUND_ASKED);
	else
		find_ranges(x);
	return 0;
}

static int run_source(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	const struct hl_request *req = p->request;
	struct hl_source_result *x = r->data;
	struct hl_query q = hl_plan_query(p, part->quantity);
	int err = hl_model_query(p->m, &q, &x->answer);

	if (err)
		return err;
	hl_result_set_answer(r, &x->answer);
	err = hl_source_lines_make(
		&x->lines, p->m, &x->answer, req->source.file, req->source.file_len);
	return err ? err : choose_lines(x, req);
}

static void fini_source(void *data)
{
	struct hl_source_result *x = data;

	free(x->ranges);
	hl_source_lines_fini(&x->lines);
	hl_answer_fini(&x->answer);
}

const struct hl_view hl_view_source = {
	.id = HL_VIEW_ID_source,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_POOLS | HL_VIEW_NAMES | HL_VIEW_TOTAL | HL_VIEW_BLOCKS,
	.data_size = sizeof(struct hl_source_result),
	.run = run_source,
	.fini = fini_source,
};
