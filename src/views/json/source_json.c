/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_json.c - the lines of a source file, as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "views/json/json_internal.h"

#define LINE_BYTES_MAX 2000 /* of the text of a line; the rest is left out */

/* A line has no NUL. */
static void put_text(struct hl_json *j, const struct hl_source_text *t, size_t line)
{
	size_t len = 0;
	const char *text = hl_source_text_line(t, line, &len);
	char *copy = text ? strndup(text, len < LINE_BYTES_MAX ? len : LINE_BYTES_MAX) : NULL;

	hl_json_key_string(j, "text", copy);
	if (text && len > LINE_BYTES_MAX)
		hl_json_key_bool(j, "cut", true);
	free(copy);
}

static void put_line(
	struct hl_json *j, const struct hl_source_result *x, size_t line, struct hl_row_limit *rows)
{
	static const struct hl_value none;
	const struct hl_source_line *l = hl_source_result_line(x, line);

	if (!hl_json_begin_row(j, rows, l ? &l->own : &none))
		return;
	hl_json_key_u64(j, "line", line);
	put_text(j, &x->lines.text, line);
	hl_json_key_string(j, "function", l ? l->function : NULL);
	hl_json_value(j, "", l ? &l->value : &none);
	hl_json_value(j, "own", l ? &l->own : &none);
	hl_json_end_row(j, rows);
}

int hl_json_source(struct hl_json *j, struct hl_result *r)
{
	const struct hl_source_result *x = r->data;
	const struct hl_source_lines *s = &x->lines;
	const struct hl_source_text *t = &s->text;

	hl_json_answer(j, &x->answer);
	hl_json_key_string(j, "file", s->file);
	hl_json_key_string(j, "path", t->path);
	hl_json_key_string(j, "problem", t->path ? NULL : t->problem);
	hl_json_key_bool(j, "changed", t->changed);
	hl_json_key_u64_or_null(j, "total_lines", t->path ? hl_source_text_n_lines(t) : UINT64_MAX);
	hl_json_value(j, "", &s->value);
	hl_json_value(j, "own", &s->own);
	hl_json_key(j, "lines");
	hl_json_begin_array(j);
	for (size_t i = 0; i < x->n_ranges; i++) {
		for (size_t k = x->ranges[i].from; k <= x->ranges[i].to; k++)
			put_line(j, x, k, r->rows);
	}
	hl_json_end_array(j);
	return 0;
}
