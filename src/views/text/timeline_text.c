/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_text.c - live bytes over the run, as a plot.
 */
#include <inttypes.h>
#include <string.h>

#include "model/views/marks.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

#define ROWS   12
#define MARGIN 12 /* the columns before the plot: "1023.9 KiB |" */

size_t hl_text_timeline_columns(const struct hl_text_opts *opts)
{
	return opts->width > MARGIN + 20 ? opts->width - MARGIN - 1 : 20;
}

static size_t find_highest(const struct hl_timeline_bin *c, size_t n)
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
		fprintf(out, "%10s %s", label, unicode ? "│" : "|");
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

static void put_axis(FILE *out, size_t n, bool unicode)
{
	size_t sections = count_sections(n), k = 0;

	fprintf(out, "%10s %s", "0", unicode ? "└" : "+");
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
static void put_times(FILE *out, uint64_t end_ns, size_t n)
{
	char last[HL_TEXT_SIZE_MAX], text[HL_TEXT_SIZE_MAX];
	size_t sections = count_sections(n), column, end;

	hl_text_duration(last, end_ns);
	end = n > strlen(last) ? n - strlen(last) : 0;
	column = (size_t)fprintf(out, "%*s%s", MARGIN, "", hl_text_duration(text, 0)) - MARGIN;
	for (size_t k = 1; k < sections; k++) {
		uint64_t ns = (uint64_t)((double)end_ns * (double)k / (double)sections);
		size_t len = strlen(hl_text_duration(text, ns));
		size_t at = tick_column(k, sections, n) - len / 2;

		if (at <= column || at + len >= end)
			continue;
		fprintf(out, "%*s%s", (int)(at - column), "", text);
		column = at + len;
	}
	fprintf(out, "%*s%s\n", (int)(end > column ? end - column : 1), "", last);
}

/* Prints ^ for the peak and digits for marks below the plot, and a legend. */
static int put_marks(FILE *out, struct hl_model *m, const struct hl_timeline_bin *c, size_t n)
{
	const struct hl_mark *marks;
	size_t n_marks, peak = find_highest(c, n);
	struct hl_strbuf b = {0};
	char text[HL_TEXT_SIZE_MAX], line[1024];
	int err = hl_model_marks(m, &marks, &n_marks);
	uint64_t middle = (uint64_t)((double)hl_model_end_ns(m) * ((double)peak + 0.5) / (double)n);

	if (err)
		return err;
	n = n < sizeof(line) - 1 ? n : sizeof(line) - 1;
	memset(line, ' ', n);
	line[n] = 0;
	for (size_t i = n_marks; i-- > 0;)
		line[hl_timeline_column(m, marks[i].time_ns, n)] = i < 9 ? (char)('1' + i) : '*';
	if (peak < n)
		line[peak] = '^';
	fprintf(out, "%*s%s\n", MARGIN, "", line);
	put_times(out, hl_model_end_ns(m), n);
	/* The legend shows the time, because without it it looks like a second mark. */
	fprintf(out, "%*s^ highest%s, about %s\n", MARGIN, "", damage_note(c, n),
		hl_text_duration(text, middle));
	for (size_t i = 0; i < n_marks && i < 9; i++) {
		hl_strbuf_reset(&b);
		hl_text_escape(&b, marks[i].name);
		fprintf(out, "%*s%zu %s%s%s, at %s\n", MARGIN, "", i + 1,
			marks[i].snapshot ? "snapshot" : "mark", b.len ? " " : "",
			hl_strbuf_str(&b), hl_text_duration(text, marks[i].time_ns));
	}
	if (n_marks > 9)
		fprintf(out, "%*s* %zu more marks\n", MARGIN, "", n_marks - 9);
	hl_strbuf_fini(&b);
	return 0;
}

int hl_text_timeline(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_timeline_result *x = r->data;
	const struct hl_timeline_bin *c = x->columns;
	struct hl_model *m = r->m;
	size_t n = x->n;
	uint64_t top = c[find_highest(c, n)].max_bytes;
	char bytes[HL_TEXT_SIZE_MAX], time[HL_TEXT_SIZE_MAX];

	fprintf(out, "%s%s over %s, at most %s%s%s\n\n", hl_text_style(opts, HL_STYLE_BOLD),
		opts->quantity_text, hl_text_duration(time, hl_model_end_ns(m)),
		hl_text_size(bytes, top, opts), damage_note(c, n),
		hl_text_style(opts, HL_STYLE_PLAIN));
	put_plot(out, c, n, top, opts);
	put_axis(out, n, opts->unicode);
	return put_marks(out, m, c, n);
}
