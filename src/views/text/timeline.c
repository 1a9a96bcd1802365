/*
 * timeline.c - live bytes over the run, as a plot.
 */
#include <inttypes.h>
#include <string.h>

#include "model/marks.h"
#include "util/text.h"
#include "views/text/text_internal.h"

#define ROWS   12
#define MARGIN 12 /* what stands before the plot: "1023.9 KiB |" */

size_t hl_text_timeline_columns(const struct hl_text_opts *opts)
{
	return opts->width > MARGIN + 20 ? opts->width - MARGIN - 1 : 20;
}

static size_t highest(const struct hl_column *c, size_t n)
{
	size_t at = 0;

	for (size_t i = 1; i < n; i++) {
		if (c[i].max_bytes > c[at].max_bytes)
			at = i;
	}
	return at;
}

/* " in what can be read" if something cannot, or nothing. */
static const char *reservation(const struct hl_column *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c[i].lost)
			return " in what can be read";
	}
	return "";
}

static void put_plot(FILE *out, const struct hl_column *c, size_t n, uint64_t top, bool unicode)
{
	for (unsigned row = ROWS; row-- > 0;) {
		char label[HL_TEXT_SIZE_MAX] = "";

		if (row == ROWS - 1)
			hl_text_bytes(label, top);
		else if (row == ROWS / 2 - 1)
			hl_text_bytes(label, top / 2);
		fprintf(out, "%10s %s", label, unicode ? "│" : "|");
		for (size_t i = 0; i < n; i++) {
			double high = top ? (double)c[i].max_bytes * ROWS / (double)top : 0;
			double eighths = (high - row) * 8;

			/* A little is not nothing. */
			if (row == 0 && c[i].max_bytes && eighths < 1)
				eighths = 1;
			if (c[i].lost && row == 0)
				fputs("?", out);
			else
				fputs(hl_bar(eighths <= 0 ? 0 : (unsigned)(eighths + 0.5), unicode),
					out);
		}
		putc('\n', out);
	}
}

/* --- the axis of time --- */

/* Parts of the axis: an even number, so that one tick is the middle, each with room for its time.
 */
static size_t parts_of(size_t n)
{
	return n >= 160 ? 8 : n >= 56 ? 4 : 2;
}

/* The column of tick k: the first, ..., the last. */
static size_t tick_column(size_t k, size_t parts, size_t n)
{
	return k * (n - 1) / parts;
}

static void put_axis(FILE *out, size_t n, bool unicode)
{
	size_t parts = parts_of(n), k = 0;

	fprintf(out, "%10s %s", "0", unicode ? "└" : "+");
	for (size_t i = 0; i < n; i++) {
		if (i == tick_column(k, parts, n)) {
			fputs(unicode ? "┬" : "+", out);
			k++;
		} else {
			fputs(unicode ? "─" : "-", out);
		}
	}
	putc('\n', out);
}

/* Each time below its tick, the first and the last inside the plot. One of many digits that would
 * touch its neighbours is left out, never the last. */
static void put_times(FILE *out, uint64_t end_ns, size_t n)
{
	char last[HL_TEXT_SIZE_MAX], text[HL_TEXT_SIZE_MAX];
	size_t parts = parts_of(n), column, end;

	hl_text_duration(last, end_ns);
	end = n > strlen(last) ? n - strlen(last) : 0;
	column = (size_t)fprintf(out, "%*s%s", MARGIN, "", hl_text_duration(text, 0)) - MARGIN;
	for (size_t k = 1; k < parts; k++) {
		uint64_t ns = (uint64_t)((double)end_ns * (double)k / (double)parts);
		size_t len = strlen(hl_text_duration(text, ns));
		size_t at = tick_column(k, parts, n) - len / 2;

		if (at <= column || at + len >= end)
			continue;
		fprintf(out, "%*s%s", (int)(at - column), "", text);
		column = at + len;
	}
	fprintf(out, "%*s%s\n", (int)(end > column ? end - column : 1), "", last);
}

/* ^ for the peak and numbers for marks below the plot, and what they are. */
static int put_marks(FILE *out, struct hl_model *m, const struct hl_column *c, size_t n)
{
	const struct hl_mark *marks;
	size_t n_marks, peak = highest(c, n);
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
	/* Without a time the legend looks like a second mark. */
	fprintf(out, "%*s^ highest%s, about %s\n", MARGIN, "", reservation(c, n),
		hl_text_duration(text, middle));
	for (size_t i = 0; i < n_marks && i < 9; i++) {
		hl_strbuf_reset(&b);
		hl_text_escape(&b, marks[i].name);
		fprintf(out, "%*s%zu %s%s%s, at %s\n", MARGIN, "", i + 1,
			marks[i].snapshot ? "snapshot" : "mark", b.len ? " " : "",
			hl_strbuf_str(&b), hl_text_duration(text, marks[i].time_ns));
	}
	if (n_marks > 9)
		fprintf(out, "%*s* %zu marks more\n", MARGIN, "", n_marks - 9);
	hl_strbuf_fini(&b);
	return 0;
}

int hl_text_timeline(FILE *out, struct hl_model *m, const struct hl_column *c, size_t n,
	const struct hl_text_opts *opts)
{
	uint64_t top = c[highest(c, n)].max_bytes;
	char bytes[HL_TEXT_SIZE_MAX], time[HL_TEXT_SIZE_MAX];

	fprintf(out, "%s%s over %s, at most %s%s%s\n\n", hl_style(opts, HL_STYLE_BOLD), opts->what,
		hl_text_duration(time, hl_model_end_ns(m)), hl_text_bytes(bytes, top),
		reservation(c, n), hl_style(opts, HL_STYLE_PLAIN));
	put_plot(out, c, n, top, opts->unicode);
	put_axis(out, n, opts->unicode);
	return put_marks(out, m, c, n);
}

static void json_marks(struct hl_json *j, const struct hl_mark *marks, size_t n)
{
	hl_json_key(j, "marks");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		hl_json_begin_object(j);
		hl_json_key_string(j, "kind", marks[i].snapshot ? "snapshot" : "mark");
		hl_json_key_string(j, "name", marks[i].name);
		hl_json_key_u64(j, "time_ns", marks[i].time_ns);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}

int hl_json_timeline(struct hl_json *j, struct hl_model *m, const struct hl_column *c, size_t n,
	const struct hl_peak *peak)
{
	const struct hl_mark *marks;
	size_t n_marks;
	int err = hl_model_marks(m, &marks, &n_marks);

	if (err)
		return err;
	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(m));
	hl_json_key_u64(j, "peak_bytes", peak->bytes);
	hl_json_key_u64(j, "peak_time_ns", peak->time_ns);
	if (peak->moved)
		hl_json_key_bool(j, "peak_moved", true);
	hl_json_key(j, "columns");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		hl_json_begin_object(j);
		hl_json_key_u64(j, "max_live_bytes", c[i].max_bytes);
		hl_json_key_u64(j, "end_live_bytes", c[i].end_bytes);
		if (c[i].lost)
			hl_json_key_bool(j, "lost", true);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
	json_marks(j, marks, n_marks);
	return 0;
}
