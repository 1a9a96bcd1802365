/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_text.c - the lines of a source file, with their bytes in the margin.
 */
#include <stdlib.h>
#include <string.h>

#include "views/text/text_internal.h"

#define MARGIN 30 /* columns before the text of a line */
#define TAB    8

/* Appends the text with tabs as spaces, as far as it fits: at most `columns`; 0: all. */
static void put_expanded(struct hl_strbuf *out, const char *text, size_t len, size_t columns)
{
	size_t at = 0;

	for (size_t i = 0; i < len && (!columns || at < columns);) {
		uint32_t rune;
		size_t n = hl_rune_decode(text + i, len - i, &rune);

		if (text[i] == '\t') {
			do
				hl_strbuf_putc(out, ' ');
			while (++at % TAB && (!columns || at < columns));
		} else if (rune == HL_RUNE_BAD || hl_rune_is_unsafe(rune)) {
			hl_strbuf_putc(out, '?');
			at++;
		} else {
			hl_strbuf_add(out, text + i, n);
			at++;
		}
		i += n;
	}
}

/* A line without blocks has an empty margin. */
static void put_value(FILE *out, uint64_t bytes, uint64_t blocks, const struct hl_text_opts *opts)
{
	char text[HL_TEXT_SIZE_MAX];

	fprintf(out, "%10s  ", blocks ? hl_text_size(text, bytes, opts) : "");
}

static void put_line(
	FILE *out, const struct hl_source_result *x, size_t line, const struct hl_text_opts *opts)
{
	static const struct hl_source_line none;
	const struct hl_source_line *l = hl_source_result_line(x, line);
	size_t len = 0, width = opts->shorten && opts->width > MARGIN ? opts->width - MARGIN : 0;
	const char *text = hl_source_text_line(&x->lines.text, line, &len);
	struct hl_strbuf shown = {0};

	if (!hl_row_begin(opts->rows, out, l ? &l->own : &none.own))
		return;
	l = l ? l : &none;
	put_value(out, l->value.bytes, l->value.blocks, opts);
	put_value(out, l->own.bytes, l->own.blocks, opts);
	if (text)
		put_expanded(&shown, text, len, width);
	else if (l->function)
		put_expanded(&shown, l->function, strlen(l->function), width);
	if (line > 0)
		fprintf(out, "%5zu", line);
	else
		fprintf(out, "%5s", "?");
	fprintf(out, "%s%s\n", shown.len ? "  " : "", hl_strbuf_str(&shown));
	hl_strbuf_fini(&shown);
	hl_row_end(opts->rows);
}

static void put_head(FILE *out, const struct hl_source_lines *s, const struct hl_text_opts *opts)
{
	char bytes[HL_TEXT_SIZE_MAX], own[HL_TEXT_SIZE_MAX];
	struct hl_strbuf line = {0};

	hl_text_escape(&line, s->file);
	hl_strbuf_printf(&line, ": %s in stacks with a line of it, %s allocated by its lines",
		hl_text_size(bytes, s->value.bytes, opts), hl_text_size(own, s->own.bytes, opts));
	hl_put_wrapped(out, hl_strbuf_str(&line), HL_STYLE_PLAIN, 2, opts);
	hl_strbuf_reset(&line);
	if (!s->text.path) {
		hl_text_escape(&line, s->text.problem);
	} else if (s->text.changed) {
		hl_text_escape(&line, s->text.path);
		hl_strbuf_puts(
			&line, " was modified after the recording began: lines may have moved");
	}
	if (line.len)
		hl_put_wrapped(out, hl_strbuf_str(&line), HL_STYLE_PLAIN, 2, opts);
	hl_strbuf_fini(&line);
}

int hl_text_source(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_source_result *x = r->data;

	hl_put_header(out, r->m, &x->answer, opts);
	putc('\n', out);
	put_head(out, &x->lines, opts);
	if (x->n_ranges > 0)
		fprintf(out, "%10s  %10s  %5s\n", "bytes", "own", "line");
	for (size_t i = 0; i < x->n_ranges; i++) {
		if (i > 0 && x->lines.text.path)
			fprintf(out, "%29s\n", "...");
		for (size_t k = x->ranges[i].from; k <= x->ranges[i].to; k++)
			put_line(out, x, k, opts);
	}
	return 0;
}
