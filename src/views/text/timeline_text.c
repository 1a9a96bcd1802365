/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_text.c - live bytes over the run, or a range of it, as a plot.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/views/marks.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

#define ROWS 12
/* The columns before the plot: "1023.9 KiB |", or "123,456,789,012 B |" with exact bytes. */
#define MARGIN       12
#define EXACT_MARGIN 19

static int margin_of(const struct hl_text_opts *opts)
{
	return opts->exact_bytes ? EXACT_MARGIN : MARGIN;
}

size_t hl_text_timeline_columns(const struct hl_text_opts *opts)
{
	size_t margin = (size_t)margin_of(opts);

	return opts->width > margin + 20 ? opts->width - margin - 1 : 20;
}

size_t hl_timeline_highest(const struct hl_timeline_bin *c, size_t n)
{
	size_t at = 0;

	for (size_t i = 1; i < n; i++) {
		if (c[i].max_bytes > c[at].max_bytes)
			at = i;
	}
	return at;
}

/* " in what can be read" if a part is missing, else "". */
static const char *damage_note(const struct hl_timeline_bin *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c[i].lost)
			return " in the readable part";
	}
	return "";
}

static void put_plot(FILE *out, const struct hl_timeline_bin *c, size_t n, uint64_t top,
	const struct hl_text_opts *opts)
{
	bool unicode = opts->unicode;

	for (unsigned row = ROWS; row-- > 0;) {
		char label[HL_TEXT_SIZE_MAX] = "";

		if (row == ROWS - 1)
			hl_text_size(label, top, opts);
		else if (row == ROWS / 2 - 1)
			hl_text_size(label, top / 2, opts);
		fprintf(out, "%*s %s", margin_of(opts) - 2, label, unicode ? "│" : "|");
		for (size_t i = 0; i < n; i++) {
			double height = top ? (double)c[i].max_bytes * ROWS / (double)top : 0;
			double eighths = (height - row) * 8;

			/* A small value must not look like zero. */
			if (row == 0 && c[i].max_bytes && eighths < 1)
				eighths = 1;
			if ((c[i].lost || c[i].before_base) && row == 0)
				fputs("?", out);
			else
				fputs(hl_bar(eighths <= 0 ? 0 : (unsigned)(eighths + 0.5), unicode),
					out);
		}
		putc('\n', out);
	}
}

/* --- the time axis --- */

/* The number of sections of the axis: even, so that one tick is in the middle, and each wide enough
 * for the time at its tick. */
static size_t count_sections(size_t n)
{
	return n >= 160 ? 8 : n >= 56 ? 4 : 2;
}

/* The column of tick k, from the first column (0) to the last (parts). */
static size_t tick_column(size_t k, size_t sections, size_t n)
{
	return k * (n - 1) / sections;
}

static void put_axis(FILE *out, size_t n, const struct hl_text_opts *opts)
{
	bool unicode = opts->unicode;
	size_t sections = count_sections(n), k = 0;

	fprintf(out, "%*s %s", margin_of(opts) - 2, "0", unicode ? "└" : "+");
	for (size_t i = 0; i < n; i++) {
		if (i == tick_column(k, sections, n)) {
			fputs(unicode ? "┬" : "+", out);
			k++;
		} else {
			fputs(unicode ? "─" : "-", out);
		}
	}
	putc('\n', out);
}

/* Prints each time below its tick, the first and the last inside the plot. A time that would touch
 * its neighbor is omitted; the last one never is. */
static void put_times(
	FILE *out, const struct hl_time_range *r, size_t n, const struct hl_text_opts *opts)
{
	char last[HL_TEXT_SIZE_MAX], text[HL_TEXT_SIZE_MAX];
	size_t sections = count_sections(n), column, end;
	int margin = margin_of(opts);

	hl_text_duration(last, r->to_ns);
	end = n > strlen(last) ? n - strlen(last) : 0;
	column = (size_t)(fprintf(out, "%*s%s", margin, "", hl_text_duration(text, r->from_ns)) -
			  margin);
	for (size_t k = 1; k < sections; k++) {
		uint64_t ns = r->from_ns + (uint64_t)((double)(r->to_ns - r->from_ns) * (double)k /
						      (double)sections);
		size_t len = strlen(hl_text_duration(text, ns));
		size_t at = tick_column(k, sections, n) - len / 2;

		if (at <= column || at + len >= end)
			continue;
		fprintf(out, "%*s%s", (int)(at - column), "", text);
		column = at + len;
	}
	fprintf(out, "%*s%s\n", (int)(end > column ? end - column : 1), "", last);
}

/* --- marks --- */

#define MARK_ROWS 3  /* rows of numbers between the axis and the times */
#define LEGEND    12 /* marks with a name below the plot */

/* The numbers of the marks below the plot. A number is at the column of its mark, in the first row
 * that has room. A mark without room is behind the + of the last number before it. */
struct mark_rows {
	char *cells; /* MARK_ROWS rows of n characters */
	size_t n, used;
	size_t last_row, last_end; /* of the newest number */
	bool has_last;
};

static char *mark_cell(struct mark_rows *r, size_t row, size_t column)
{
	return r->cells + row * r->n + column;
}

static bool has_room(struct mark_rows *r, size_t row, size_t at, size_t len)
{
	size_t from = at > 0 ? at - 1 : 0, to = at + len < r->n ? at + len + 1 : r->n;

	for (size_t i = from; i < to; i++) {
		if (*mark_cell(r, row, i) != ' ')
			return false;
	}
	return true;
}

static void place_label(struct mark_rows *r, size_t column, const char *label)
{
	size_t len = strlen(label), at = column + len <= r->n ? column : r->n - len;

	for (size_t row = 0; row < MARK_ROWS; row++) {
		if (!has_room(r, row, at, len))
			continue;
		memcpy(mark_cell(r, row, at), label, len);
		r->used = row + 1 > r->used ? row + 1 : r->used;
		r->last_row = row;
		r->last_end = at + len;
		r->has_last = true;
		return;
	}
	if (r->has_last && r->last_end < r->n)
		*mark_cell(r, r->last_row, r->last_end) = '+';
}

static void put_mark_row(FILE *out, struct mark_rows *r, size_t row, int margin)
{
	size_t n = r->n;

	while (n > 0 && *mark_cell(r, row, n - 1) == ' ')
		n--;
	fprintf(out, "%*s%.*s\n", margin, "", (int)n, mark_cell(r, row, 0));
}

/* Prints ^ for the highest column and the numbers of the marks. Returns 0 or -ENOMEM. */
static int put_mark_rows(FILE *out, const struct hl_timeline_result *x, size_t highest,
	const struct hl_text_opts *opts)
{
	struct mark_rows r = {.n = x->n};
	char number[24];

	r.cells = malloc(MARK_ROWS * r.n);
	if (!r.cells)
		return -ENOMEM;
	memset(r.cells, ' ', MARK_ROWS * r.n);
	place_label(&r, highest, "^");
	r.has_last = false;
	for (size_t i = 0; i < x->n_marks; i++) {
		snprintf(number, sizeof(number), "%zu", x->marks_before + i + 1);
		place_label(&r, hl_time_range_column(&x->range, x->marks[i].time_ns, r.n), number);
	}
	for (size_t row = 0; row < r.used; row++)
		put_mark_row(out, &r, row, margin_of(opts));
	free(r.cells);
	return 0;
}

/* "            2 mark login, at 12.5 s": the name is shortened to the line. */
static void put_mark(
	FILE *out, const struct hl_mark *mark, size_t number, const struct hl_text_opts *opts)
{
	char before[64], after[HL_TEXT_SIZE_MAX + 8], time[HL_TEXT_SIZE_MAX];
	struct hl_label name = {.text = mark->name};

	snprintf(before, sizeof(before), "%*s%zu %s%s", margin_of(opts), "", number,
		mark->snapshot ? "snapshot" : "mark", mark->name[0] ? " " : "");
	snprintf(after, sizeof(after), ", at %s", hl_text_duration(time, mark->time_ns));
	name.reserved_columns = strlen(before) + hl_display_columns(after, strlen(after));
	fputs(before, out);
	hl_put_label(out, &name, opts);
	fprintf(out, "%s\n", after);
}

static void put_mark_legend(
	FILE *out, const struct hl_timeline_result *x, const struct hl_text_opts *opts)
{
	size_t outside = x->marks_before + x->marks_after, more;

	for (size_t i = 0; i < x->n_marks && i < LEGEND; i++)
		put_mark(out, &x->marks[i], x->marks_before + i + 1, opts);
	more = x->n_marks > LEGEND ? x->n_marks - LEGEND : 0;
	if (more)
		fprintf(out, "%*sand %zu more mark%s; --json lists all\n", margin_of(opts), "",
			more, more == 1 ? "" : "s");
	if (outside)
		fprintf(out, "%*s%zu mark%s outside of the range\n", margin_of(opts), "", outside,
			outside == 1 ? "" : "s");
}

/* Does the plot begin at a base, not at the begin of its range? */
static bool begins_at_base(const struct hl_timeline_result *x)
{
	return x->known.from_ns > x->range.from_ns;
}

/* With a range, or in a trace that begins late, the highest value of the plot need not be the peak.
 */
static void put_peak(FILE *out, const struct hl_result *r, const struct hl_text_opts *opts)
{
	static const char *const places[] = {[HL_RANGE_BEFORE] = "before the range",
		[HL_RANGE_IN] = "in the range",
		[HL_RANGE_AFTER] = "after the range"};
	const struct hl_timeline_result *x = r->data;
	bool before_base = begins_at_base(x) && x->peak_phase == HL_RANGE_BEFORE;
	char bytes[HL_TEXT_SIZE_MAX], time[HL_TEXT_SIZE_MAX];

	if (x->is_part || before_base)
		fprintf(out, "%*sthe peak%s, %s, is %s, at %s\n", margin_of(opts), "",
			r->plan->filter ? " of the matching blocks" : "",
			hl_text_size(bytes, x->peak.bytes, opts),
			before_base ? "before the part that is in the file" : places[x->peak_phase],
			hl_text_duration(time, x->peak.time_ns));
}

static void put_legend(
	FILE *out, const struct hl_result *r, size_t highest, const struct hl_text_opts *opts)
{
	const struct hl_timeline_result *x = r->data;
	double length = (double)(x->range.to_ns - x->range.from_ns);
	uint64_t middle =
		x->range.from_ns + (uint64_t)(length * ((double)highest + 0.5) / (double)x->n);
	char text[HL_TEXT_SIZE_MAX];

	/* The legend shows the time, because without it it looks like a second mark. */
	fprintf(out, "%*s^ highest%s%s, about %s\n", margin_of(opts), "",
		begins_at_base(x) ? " in the part that is in the file"
		: x->is_part      ? " in the range"
				  : "",
		damage_note(x->columns, x->n), hl_text_duration(text, middle));
	put_peak(out, r, opts);
	put_mark_legend(out, x, opts);
}

static void put_title(
	FILE *out, const struct hl_result *r, uint64_t top, const struct hl_text_opts *opts)
{
	const struct hl_timeline_result *x = r->data;
	char bytes[HL_TEXT_SIZE_MAX], from[HL_TEXT_SIZE_MAX], to[HL_TEXT_SIZE_MAX],
		all[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_text_duration(all, hl_model_end_ns(r->m));
	hl_strbuf_puts(&b, opts->quantity_text);
	if (x->is_part || begins_at_base(x))
		hl_strbuf_printf(&b, " from %s to %s of %s",
			hl_text_begin(from, r->m, x->known.from_ns),
			hl_text_duration(to, x->known.to_ns), all);
	else
		hl_strbuf_printf(&b, " over %s", all);
	hl_strbuf_printf(&b, ", at most %s%s", hl_text_size(bytes, top, opts),
		damage_note(x->columns, x->n));
	hl_put_title(out, hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

int hl_text_timeline(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_timeline_result *x = r->data;
	size_t highest = hl_timeline_highest(x->columns, x->n);
	uint64_t top = x->columns[highest].max_bytes;
	int err;

	put_title(out, r, top, opts);
	putc('\n', out);
	put_plot(out, x->columns, x->n, top, opts);
	put_axis(out, x->n, opts);
	err = put_mark_rows(out, x, highest, opts);
	if (err)
		return err;
	put_times(out, &x->range, x->n, opts);
	put_legend(out, r, highest, opts);
	return 0;
}
