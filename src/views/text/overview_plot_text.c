/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_plot_text.c - the small timeline of the overview.
 */
#include <stdlib.h>
#include <string.h>

#include "model/views/marks.h"
#include "views/text/overview_text_internal.h"

#define PLOT_MARGIN 12 /* as in timeline_text.c: "1023.9 KiB |" */

/* One character of the plot. A small value must not look like zero. */
static const char *plot_cell(
	const struct hl_timeline_bin *c, uint64_t top, unsigned row, unsigned height, bool unicode)
{
	double eighths = top ? ((double)c->max_bytes * height / (double)top - row) * 8 : 0;

	if ((c->lost || c->before_base) && row == 0)
		return "?";
	if (row == 0 && c->max_bytes && eighths < 1)
		eighths = 1;
	return hl_bar(eighths <= 0 ? 0 : (unsigned)(eighths + 0.5), unicode);
}

static void put_plot_row(FILE *out, const struct hl_overview *o, unsigned row, unsigned height,
	const struct hl_text_opts *opts)
{
	uint64_t top = o->columns[hl_timeline_highest(o->columns, o->n_columns)].max_bytes;
	char label[HL_TEXT_SIZE_MAX] = "";
	size_t blank = 0; /* not printed at the end of the line */

	if (row + 1 == height)
		hl_text_size(label, top, opts);
	fprintf(out, "%10s %s", label, opts->unicode ? "│" : "|");
	for (size_t i = 0; i < o->n_columns; i++) {
		const char *cell = plot_cell(&o->columns[i], top, row, height, opts->unicode);

		if (cell[0] == ' ') {
			blank++;
			continue;
		}
		fprintf(out, "%*s%s", (int)blank, "", cell);
		blank = 0;
	}
	putc('\n', out);
}

/* The column, or the nearest one without a mark: all marks of the legend are on the axis. */
static size_t find_free(const char *line, size_t n, size_t column)
{
	for (size_t far = 0; far < n; far++) {
		if (column + far < n && !line[column + far])
			return column + far;
		if (far <= column && !line[column - far])
			return column - far;
	}
	return column;
}

/* The axis has the marks: ^ for the peak, digits for marks of the program. */
static void put_axis(FILE *out, struct hl_model *m, const struct hl_overview *o,
	const struct hl_mark *marks, size_t n_marks, const struct hl_text_opts *opts)
{
	size_t n = o->n_columns, peak = hl_timeline_highest(o->columns, n);
	char *line = calloc(n + 1, 1);

	if (!line)
		return;
	line[peak] = '^';
	for (size_t i = 0; i < n_marks; i++) {
		size_t at = hl_timeline_column(m, marks[i].time_ns, n);

		if (i < 9)
			line[find_free(line, n, at)] = (char)('1' + i);
		else if (!line[at])
			line[at] = '*';
	}
	fprintf(out, "%10s %s", "0", opts->unicode ? "└" : "+");
	for (size_t i = 0; i < n; i++) {
		if (line[i])
			putc(line[i], out);
		else
			fputs(opts->unicode ? "─" : "-", out);
	}
	putc('\n', out);
	free(line);
}

/* The peak of the run may be before the base of a trace that begins late, or in a lost part. */
static bool has_peak(const struct hl_overview *o)
{
	return o->columns[hl_timeline_highest(o->columns, o->n_columns)].max_bytes >= o->peak.bytes;
}

/* "^ peak  1 login  2 logout", as many marks as fit. */
static void put_legend(struct hl_strbuf *b, const struct hl_overview *o,
	const struct hl_mark *marks, size_t n, size_t room)
{
	hl_strbuf_puts(b, has_peak(o) ? "^ peak" : "^ highest shown");
	for (size_t i = 0; i < n && i < 9; i++) {
		struct hl_strbuf one = {0};

		hl_strbuf_printf(&one, "  %zu ", i + 1);
		hl_text_escape(&one, marks[i].name[0] ? marks[i].name : "mark");
		if (hl_display_columns(hl_strbuf_str(b), b->len) +
				hl_display_columns(hl_strbuf_str(&one), one.len) <=
			room)
			hl_strbuf_puts(b, hl_strbuf_str(&one));
		hl_strbuf_fini(&one);
	}
}

/* The legend begins below the mark of the peak, as far as there is room. */
static void put_times(FILE *out, struct hl_model *m, const struct hl_overview *o,
	const struct hl_mark *marks, size_t n_marks)
{
	size_t n = o->n_columns, peak = hl_timeline_highest(o->columns, n);
	char first[HL_TEXT_SIZE_MAX], last[HL_TEXT_SIZE_MAX];
	struct hl_strbuf legend = {0};
	size_t room, used, left;

	hl_text_duration(first, 0);
	hl_text_duration(last, hl_model_end_ns(m));
	used = strlen(first) + strlen(last) + 4;
	room = n > used ? n - used : 0;
	put_legend(&legend, o, marks, n_marks, room);
	used = hl_display_columns(hl_strbuf_str(&legend), legend.len);
	left = peak > strlen(first) + 2 ? peak - strlen(first) - 2 : 0;
	left = room < used + left ? room > used ? room - used : 0 : left;
	fprintf(out, "%*s%s  %*s%s%*s  %s\n", PLOT_MARGIN, "", first, (int)left, "",
		hl_strbuf_str(&legend), (int)(room > used ? room - used - left : 0), "", last);
	hl_strbuf_fini(&legend);
}

void hl_overview_put_plot(FILE *out, struct hl_model *m, const struct hl_overview *o,
	unsigned height, const struct hl_text_opts *opts)
{
	const struct hl_mark *marks;
	size_t n_marks;

	if (o->timeline_state != HL_OVERVIEW_KNOWN || o->n_columns == 0)
		return;
	if (hl_model_marks(m, &marks, &n_marks))
		n_marks = 0;
	for (unsigned row = height; row-- > 0;)
		put_plot_row(out, o, row, height, opts);
	put_axis(out, m, o, marks, n_marks, opts);
	put_times(out, m, o, marks, n_marks);
}
