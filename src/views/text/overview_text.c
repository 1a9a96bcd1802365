/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_text.c - the most important facts of a trace on one screen.
 *
 * The parts have a fixed order. What is left of the screen after all lists goes to the plot first,
 * and then to empty lines between the parts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/views/marks.h"
#include "model/overview/verdicts.h"
#include "util/safe_text.h"
#include "util/terminal/shell_word.h"
#include "util/terminal/wrap.h"
#include "views/text/text_internal.h"

#define LINES       40
#define PLOT_MIN    2
#define PLOT_MAX    4
#define ROWS_MIN    2  /* of a list: sites that must be shown are in its first rows */
#define VALUE_MIN   10 /* the bytes of a row, as in row_layout.c */
#define PLOT_MARGIN 12 /* as in timeline_text.c: "1023.9 KiB |" */
#define TITLE_WIDTH 19 /* share and bytes: the titles of lists are above them */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static const char *bold(const struct hl_text_opts *opts)
{
	return hl_text_style(opts, HL_STYLE_BOLD);
}

static const char *dim(const struct hl_text_opts *opts)
{
	return hl_text_style(opts, HL_STYLE_DIM);
}

static const char *plain(const struct hl_text_opts *opts)
{
	return hl_text_style(opts, HL_STYLE_PLAIN);
}

/* --- the headline --- */

#define NAME_COLUMNS   12
#define VALUE_COLUMNS  12
#define DETAIL_COLUMNS (2 + NAME_COLUMNS + VALUE_COLUMNS + 2)

/* "  peak            12.4 MiB  in 162 blocks, at 30.7 ms" */
static void put_fact(FILE *out, const char *name, const char *value, const char *detail,
	const struct hl_text_opts *opts)
{
	fprintf(out, "  %-*s%s%*s%s", NAME_COLUMNS, name, bold(opts), VALUE_COLUMNS, value,
		plain(opts));
	if (!detail[0]) {
		putc('\n', out);
		return;
	}
	fputs("  ", out);
	hl_wrap(out, detail, DETAIL_COLUMNS, DETAIL_COLUMNS,
		opts->shorten ? (unsigned)opts->width : 0);
}

/* An estimate of 0 has no margin: that no sample is live proves little. */
static void put_estimate(struct hl_strbuf *b, const struct hl_overview *o, const struct hl_value *v,
	const struct hl_text_opts *opts)
{
	char margin[HL_TEXT_SIZE_MAX];

	if (o->estimated)
		hl_strbuf_puts(b, ", estimated");
	if (v->variance > 0)
		hl_strbuf_printf(b, ", %s%s", opts->unicode ? "±" : "+-",
			hl_text_size(margin, hl_value_margin(v), opts));
}

static void put_peak(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (o->peak_state == HL_OVERVIEW_NOT_KNOWN) {
		put_fact(out, "peak", "-",
			hl_model_has_event_order(m) ? "not known: it needs every event"
						    : "not known: the trace has no order of events",
			opts);
		return;
	}
	if (o->peak_state != HL_OVERVIEW_KNOWN) {
		put_fact(out, "peak", "-", "not found within --max-time", opts);
		return;
	}
	hl_strbuf_printf(
		&b, "in %s block%s", hl_text_count(n, o->peak.blocks), plural(o->peak.blocks));
	if (o->peak.blocks > 0)
		hl_strbuf_printf(&b, ", at %s", hl_text_duration(at, o->peak_ns));
	put_estimate(&b, o, &o->peak, opts);
	put_fact(out, "peak", hl_text_size(value, o->peak.bytes, opts), hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

static void put_end(FILE *out, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_strbuf_printf(
		&b, "in %s block%s", hl_text_count(n, o->at_end.blocks), plural(o->at_end.blocks));
	put_estimate(&b, o, &o->at_end, opts);
	if (o->suppressed.blocks > 0)
		hl_strbuf_printf(&b, ", plus %s held by the runtime",
			hl_text_size(n, o->suppressed.bytes, opts));
	put_fact(out, o->leaked ? "leaked" : "live at end",
		hl_text_size(value, o->at_end.bytes, opts), hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

static void put_short_lived(struct hl_strbuf *b, struct hl_model *m, const struct hl_overview *o)
{
	char bound[HL_TEXT_SIZE_MAX];

	if (o->short_state == HL_OVERVIEW_NOT_KNOWN && hl_model_has_aggregated(m))
		hl_strbuf_printf(b, "; lifetimes are not known in mode %s", hl_model_sums_mode(m));
	else if (o->short_state == HL_OVERVIEW_NOT_KNOWN)
		hl_strbuf_puts(b, "; lifetimes are not known");
	else if (o->short_state == HL_OVERVIEW_LEFT_OUT)
		hl_strbuf_puts(b, "; short-lived: see --lifetimes");
	else if (o->short_of > 0)
		hl_strbuf_printf(b, "; %.1f%%%s live less than %s",
			hl_percent(o->short_blocks, o->short_of),
			o->short_of == o->allocated.blocks ? "" : " of the run's",
			hl_text_duration(bound, o->short_bound_ns));
}

static void put_allocations(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_strbuf_printf(&b, "%s in total", hl_text_size(n, o->allocated.bytes, opts));
	put_estimate(&b, o, &o->allocated, opts);
	put_short_lived(&b, m, o);
	put_fact(out, "allocations", hl_text_count(value, o->allocated.blocks), hl_strbuf_str(&b),
		opts);
	hl_strbuf_fini(&b);
}

/* Resident memory includes code and stacks, so a ratio to a small heap says nothing. */
#define RATIO_MIN_BYTES (UINT64_C(16) << 20)

static void put_resident(FILE *out, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], live[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (!o->has_rss)
		return;
	hl_text_size(live, o->rss_live_bytes, opts);
	if (!o->has_rss_live)
		hl_strbuf_puts(&b, "at most");
	else if (o->rss_live_bytes >= RATIO_MIN_BYTES)
		hl_strbuf_printf(&b, "at most, %.2f times the heap then (%s)",
			(double)o->rss_bytes / (double)o->rss_live_bytes, live);
	else
		hl_strbuf_printf(&b, "at most, when the heap had %s", live);
	put_fact(out, "resident", hl_text_size(value, o->rss_bytes, opts), hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

void hl_text_headline(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	put_peak(out, m, o, opts);
	put_end(out, o, opts);
	put_allocations(out, m, o, opts);
	put_resident(out, o, opts);
}

static void put_title(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_trace_info *i = hl_model_info(r->m);
	const char *slash = i->meta.program ? strrchr(i->meta.program, '/') : NULL;
	char time[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_text_escape(&b, slash ? slash + 1 : i->meta.program ? i->meta.program : "?");
	hl_strbuf_printf(&b, ": %s, %s thread%s", hl_text_duration(time, hl_model_end_ns(r->m)),
		hl_text_count(n, i->threads), plural(i->threads));
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_BOLD, 2, opts);
	hl_put_filter(out, opts);
	hl_strbuf_fini(&b);
}

static void put_head(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_overview_result *x = r->data;

	put_title(out, r, opts);
	hl_text_headline(out, r->m, &x->overview, opts);
}

/* --- verdicts --- */

/* The options are not divided: a line is selected to be copied. */
static void put_verdict(FILE *out, struct hl_model *m, const struct hl_overview_verdict *v,
	const struct hl_text_opts *opts)
{
	struct hl_strbuf raw = {0}, text = {0}, how = {0};
	char *lines = NULL, *last;
	size_t len = 0, width = opts->shorten ? opts->width : 0;
	FILE *wrapped = open_memstream(&lines, &len);

	hl_verdict_put(&raw, m, v);
	hl_strbuf_puts(&text, opts->unicode ? "▲ " : "! ");
	hl_text_escape(&text, hl_strbuf_str(&raw));
	hl_verdict_put_options(&how, v);
	if (wrapped) {
		hl_wrap(wrapped, hl_strbuf_str(&text), 0, 2, (unsigned)width);
		fclose(wrapped);
	}
	if (lines && len > 0) {
		lines[len - 1] = 0; /* the end of the last line */
		last = strrchr(lines, '\n');
		last = last ? last + 1 : lines;
		len = hl_display_columns(last, strlen(last)) + how.len + 4;
		fprintf(out, "%s%s%s", hl_text_style(opts, HL_STYLE_YELLOW), lines, plain(opts));
		if (how.len > 0)
			fprintf(out, "%s%s(%s)%s", width && len > width ? "\n  " : "  ", dim(opts),
				hl_strbuf_str(&how), plain(opts));
		putc('\n', out);
	}
	free(lines);
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&text);
	hl_strbuf_fini(&how);
}

static void put_verdicts(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	for (size_t i = 0; i < o->n_verdicts; i++) {
		if (!hl_row_begin(opts->rows, out, NULL))
			continue;
		put_verdict(out, m, &o->verdicts[i], opts);
		hl_row_end(opts->rows);
	}
}

/* --- the plot --- */

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

/* The axis has the marks: ^ for the peak, digits for marks of the program. */
static void put_axis(FILE *out, struct hl_model *m, const struct hl_overview *o,
	const struct hl_mark *marks, size_t n_marks, const struct hl_text_opts *opts)
{
	size_t n = o->n_columns, peak = hl_timeline_highest(o->columns, n);
	char *line = calloc(n + 1, 1);

	if (!line)
		return;
	for (size_t i = n_marks; i-- > 0;)
		line[hl_timeline_column(m, marks[i].time_ns, n)] = i < 9 ? (char)('1' + i) : '*';
	if (!line[peak])
		line[peak] = '^';
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

/* "^ peak  1 login  2 logout", as many marks as fit. */
static void put_legend(struct hl_strbuf *b, const struct hl_mark *marks, size_t n, size_t room)
{
	hl_strbuf_puts(b, "^ peak");
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

static void put_times(
	FILE *out, struct hl_model *m, size_t n, const struct hl_mark *marks, size_t n_marks)
{
	char first[HL_TEXT_SIZE_MAX], last[HL_TEXT_SIZE_MAX];
	struct hl_strbuf legend = {0};
	size_t room, used, left;

	hl_text_duration(first, 0);
	hl_text_duration(last, hl_model_end_ns(m));
	used = strlen(first) + strlen(last) + 4;
	room = n > used ? n - used : 0;
	put_legend(&legend, marks, n_marks, room);
	used = hl_display_columns(hl_strbuf_str(&legend), legend.len);
	left = room > used ? (room - used) / 2 : 0;
	fprintf(out, "%*s%s  %*s%s%*s  %s\n", PLOT_MARGIN, "", first, (int)left, "",
		hl_strbuf_str(&legend), (int)(room > used ? room - used - left : 0), "", last);
	hl_strbuf_fini(&legend);
}

static void put_plot(FILE *out, struct hl_model *m, const struct hl_overview *o, unsigned height,
	const struct hl_text_opts *opts)
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
	put_times(out, m, o->n_columns, marks, n_marks);
}

/* --- lists --- */

static const char *list_title(const struct hl_overview *o, enum hl_overview_list_id id)
{
	switch (id) {
	case HL_OVERVIEW_HELD:
		return "held at the peak";
	case HL_OVERVIEW_LEFT:
		return o->leaked ? "leaked" : "live at the end";
	case HL_OVERVIEW_GROWING:
		return "growing";
	default:
		return "churning by blocks";
	}
}

/* Why a list is empty. */
static const char *list_note(
	struct hl_model *m, const struct hl_overview_list *l, enum hl_overview_list_id id)
{
	if (l->state == HL_OVERVIEW_LEFT_OUT)
		return "left out: it takes longer than --max-time";
	if (l->state == HL_OVERVIEW_NOT_KNOWN)
		return !hl_model_has_event_order(m) ? "not known: a profile has no moments"
		       : hl_model_has_aggregated(m)
			       ? "not known: the mode of recording kept only sums"
			       : "not known: part of the run is not in the trace";
	switch (id) {
	case HL_OVERVIEW_GROWING:
		return l->all > 0 ? "nothing above 1 % of the peak"
				  : "nothing: late in the run no site holds more than before";
	case HL_OVERVIEW_CHURNING:
		return "nothing: few blocks took the place of freed ones";
	default:
		return "nothing";
	}
}

static unsigned trend_columns(const struct hl_overview *o, const struct hl_text_opts *opts)
{
	if (o->trend_state != HL_OVERVIEW_KNOWN)
		return 0;
	return opts->width < 100 ? 8 : opts->width < 140 ? 12 : HL_OVERVIEW_POINTS;
}

struct list_printer {
	FILE *out;
	struct hl_model *m;
	const struct hl_overview *o;
	const struct hl_overview_list *l;
	enum hl_overview_list_id id;
	const struct hl_text_opts *opts;
	struct hl_row_values numbers;
	unsigned trend;
	size_t rows; /* at most */
};

/* The columns of a margin, as in hl_put_values. */
#define MARGIN_COLUMNS 6

static int margin_columns(const struct list_printer *p)
{
	return p->numbers.margin ? MARGIN_COLUMNS : 0;
}

static void put_list_header(struct list_printer *p)
{
	bool churning = p->id == HL_OVERVIEW_CHURNING;

	fprintf(p->out, "%s%-*s%s", bold(p->opts),
		TITLE_WIDTH - VALUE_MIN + p->numbers.bytes_width + margin_columns(p),
		list_title(p->o, p->id), plain(p->opts));
	fprintf(p->out, "  %s%*s  ", dim(p->opts), p->numbers.blocks_width, "blocks");
	if (p->trend)
		fprintf(p->out, "%-*s  ", (int)p->trend, churning ? "rate" : "trend");
	fprintf(p->out, "call site%s%s\n", p->o->estimated ? " (numbers are estimates)" : "",
		plain(p->opts));
}

static void put_growth(struct list_printer *p, const struct hl_value *v)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX], text[HL_TEXT_SIZE_MAX + 2];
	double share = hl_percent(v->bytes, p->l->total.bytes);

	snprintf(text, sizeof(text), "+%s", hl_text_size(bytes, v->bytes, p->opts));
	fprintf(p->out, "%6.1f%%%*s%*s", share, p->numbers.bytes_width + 2, text, margin_columns(p),
		"");
	snprintf(text, sizeof(text), "+%s", hl_text_count(blocks, v->blocks));
	fprintf(p->out, "%*s  ", p->numbers.blocks_width + 2, v->blocks ? text : "-");
}

/* Earlier points are before the base of a trace that begins late. */
static unsigned first_known(const struct hl_overview *o)
{
	unsigned k = 0;

	while (k < HL_OVERVIEW_POINTS && !o->known[k])
		k++;
	return k;
}

static void put_row(
	struct list_printer *p, const struct hl_overview_site *s, const struct hl_label *label)
{
	const struct hl_value *v = hl_overview_site_value(s, p->id);

	if (p->id == HL_OVERVIEW_GROWING)
		put_growth(p, v);
	else
		hl_put_values(p->out, &p->numbers, v);
	if (p->trend) {
		hl_put_spark(p->out,
			p->id == HL_OVERVIEW_CHURNING ? s->trend->allocs : s->trend->live,
			HL_OVERVIEW_POINTS, first_known(p->o), p->trend, p->opts->unicode);
		fputs("  ", p->out);
	}
	hl_put_label(p->out, label, p->opts);
	putc('\n', p->out);
}

static void put_rows(struct list_printer *p)
{
	size_t n = p->l->n < p->rows ? p->l->n : p->rows;
	struct hl_label *labels = calloc(n + 1, sizeof(*labels));

	for (size_t i = 0; i < n && labels; i++) {
		const struct hl_overview_site *s = &p->o->sites[p->l->sites[i]];

		labels[i] = (struct hl_label){.frame = hl_model_frame(p->m, s->frame),
			.full_name = s->full_name,
			.reserved_columns =
				hl_row_values_width(&p->numbers) + (p->trend ? p->trend + 2 : 0)};
	}
	if (labels)
		hl_disambiguate(labels, n, p->opts);
	for (size_t i = 0; i < n && labels; i++) {
		const struct hl_overview_site *s = &p->o->sites[p->l->sites[i]];

		if (!hl_row_begin(p->opts->rows, p->out, hl_overview_site_value(s, p->id)))
			continue;
		put_row(p, s, &labels[i]);
		hl_row_end(p->opts->rows);
	}
	free(labels);
}

static void put_list(FILE *out, struct hl_model *m, const struct hl_overview *o,
	enum hl_overview_list_id id, size_t rows, const struct hl_text_opts *opts)
{
	struct hl_text_opts own = *opts;
	struct list_printer p = {.out = out,
		.m = m,
		.o = o,
		.l = &o->lists[id],
		.id = id,
		.opts = &own,
		.rows = rows};

	own.limits.by_blocks = id == HL_OVERVIEW_CHURNING;
	p.numbers = hl_row_values_make(&p.l->total, &own);
	p.trend = trend_columns(o, opts);
	if (p.l->n == 0) {
		fprintf(out, "%s%-*s%s  %s%s%s\n", bold(opts), TITLE_WIDTH, list_title(o, id),
			plain(opts), dim(opts), list_note(m, p.l, id), plain(opts));
		return;
	}
	put_list_header(&p);
	put_rows(&p);
}

/* --- names that are missing --- */

/* The number of rows whose site is in this module and has no file. */
static size_t count_nameless(struct hl_model *m, const struct hl_overview *o, const char *path)
{
	size_t count = 0;

	for (int id = 0; id < HL_OVERVIEW_LISTS; id++) {
		const struct hl_overview_list *l = &o->lists[id];

		for (size_t i = 0; i < l->n; i++) {
			const struct hl_frame *f = hl_model_frame(m, o->sites[l->sites[i]].frame);

			count += !f->file && f->module && strcmp(f->module, path) == 0;
		}
	}
	return count;
}

/* One line about the module that most rows without a line are in. */
static void put_missing_names(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	const char *path, *note, *advice;
	size_t best = 0, most = 0, modules = 0;
	struct hl_strbuf b = {0};

	for (size_t i = 0; i < hl_model_n_module_notes(m); i++) {
		size_t n;

		hl_model_module_note(m, i, &path, &note);
		n = note[0] ? count_nameless(m, o, path) : 0;
		modules += n > 0;
		if (n > most) {
			most = n;
			best = i;
		}
	}
	if (most == 0)
		return;
	hl_model_module_note(m, best, &path, &note);
	advice = hl_model_advice(m, best);
	hl_strbuf_puts(&b, "names: ");
	hl_text_escape(&b, path);
	hl_strbuf_puts(&b, ": ");
	hl_text_escape(&b, note);
	hl_strbuf_printf(&b, advice[0] ? " (%s)" : "%s", advice);
	if (modules > 1)
		hl_strbuf_printf(&b, "; and %zu more module%s", modules - 1, plural(modules - 1));
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 2, opts);
	hl_strbuf_fini(&b);
	if (hl_text_needs_debug_archive(advice))
		hl_put_wrapped(out, "  " HL_TEXT_DEBUG_ARCHIVE, HL_STYLE_PLAIN, 2, opts);
}

/* The sentence about an interpreter without the empty line before it. */
static void put_interpreter(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	char *text = NULL;
	size_t len = 0;
	FILE *line = opts->language ? open_memstream(&text, &len) : NULL;

	if (!line)
		return;
	(void)hl_text_interpreter(line, m, opts->language, opts); /* it is optional here */
	fclose(line);
	if (text && text[0] == '\n')
		fputs(text + 1, out);
	free(text);
}

/* --- the commands that go deeper --- */

/* The comment is omitted if it does not fit. */
static void put_command(FILE *out, const char *options, const char *what, size_t column,
	const struct hl_text_opts *opts)
{
	struct hl_strbuf raw = {0}, line = {0};
	size_t n;

	hl_shell_put_word(&raw, opts->command ? opts->command : "heaplapse");
	hl_strbuf_printf(&raw, " report %s", options);
	if (opts->file) {
		hl_strbuf_putc(&raw, ' ');
		hl_shell_put_word(&raw, opts->file);
	}
	hl_text_escape(&line, hl_strbuf_str(&raw));
	n = hl_display_columns(hl_strbuf_str(&line), line.len) + 2;
	fprintf(out, "  %s", hl_strbuf_str(&line));
	column = column > n ? column : n;
	if (!opts->shorten || column + 4 + strlen(what) <= opts->width)
		fprintf(out, "%*s  %s# %s%s", (int)(column - n), "", dim(opts), what, plain(opts));
	putc('\n', out);
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&line);
}

struct command {
	const char *options, *what;
};

static void put_commands(FILE *out, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	struct command c[3];
	size_t n = 0, column = 0;

	if (o->peak_state == HL_OVERVIEW_KNOWN && o->can_show_peak)
		c[n++] = (struct command){"--peak", "stacks that held the peak"};
	if (o->at_end.blocks > 0 && o->can_show_leaks)
		c[n++] = (struct command){
			"--leaks", o->leaked ? "stacks that leaked" : "stacks live at the end"};
	if (o->can_show_sites)
		c[n++] = (struct command){"--allocated --sites", "all sites, with their lifetimes"};
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(c[i].options);

		column = len > column ? len : column;
	}
	column += strlen(opts->command ? opts->command : "heaplapse") +
		  (opts->file ? strlen(opts->file) + 1 : 0) + strlen(" report ") + 2;
	for (size_t i = 0; i < n; i++)
		put_command(out, c[i].options, c[i].what, column, opts);
}

/* --- the page --- */

enum part { PART_HEAD, PART_VERDICTS, PART_PLOT, PART_LISTS, PART_NAMES, PART_COMMANDS, PARTS };

struct page {
	struct hl_result *r;
	const struct hl_text_opts *opts;
	unsigned plot; /* height of the plot */
	size_t rows;   /* of each list, at most */
	unsigned lines[PARTS], n_lines, n_parts;
};

static void put_part(
	FILE *out, const struct page *p, enum part part, const struct hl_text_opts *opts)
{
	struct hl_result *r = p->r;
	const struct hl_overview *o = &((const struct hl_overview_result *)r->data)->overview;

	if (o->allocated.blocks == 0 && part != PART_HEAD && part != PART_NAMES)
		return; /* there is nothing to show, and a message says why */
	switch (part) {
	case PART_HEAD:
		put_head(out, r, opts);
		break;
	case PART_VERDICTS:
		put_verdicts(out, r->m, o, opts);
		break;
	case PART_PLOT:
		put_plot(out, r->m, o, p->plot, opts);
		break;
	case PART_LISTS:
		for (int id = 0; id < HL_OVERVIEW_LISTS; id++)
			put_list(out, r->m, o, id, p->rows, opts);
		break;
	case PART_NAMES:
		put_missing_names(out, r->m, o, opts);
		put_interpreter(out, r->m, opts);
		break;
	default:
		put_commands(out, o, opts);
	}
}

/* The lines of a part, rendered to memory. */
static unsigned count_lines(const struct page *p, enum part part)
{
	struct hl_text_opts opts = *p->opts;
	const char *language = opts.language ? *opts.language : NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	unsigned n = 0;

	if (!out)
		return 0;
	opts.rows = NULL;
	opts.language = opts.language ? &language : NULL;
	put_part(out, p, part, &opts);
	fclose(out);
	for (size_t i = 0; i < len && text; i++)
		n += text[i] == '\n';
	free(text);
	return n;
}

static void count_page(struct page *p)
{
	p->n_lines = p->n_parts = 0;
	for (int i = 0; i < PARTS; i++) {
		p->lines[i] = count_lines(p, i);
		p->n_lines += p->lines[i];
		p->n_parts += p->lines[i] > 0;
	}
}

/* If the page is too long, the lists get shorter, unless the user has chosen their length. Lines
 * that are left separate the parts, and then go to the plot. */
static void lay_out(struct page *p)
{
	unsigned needed;

	count_page(p);
	while (p->n_lines > LINES && p->rows > ROWS_MIN && !p->r->plan->request->limit_given) {
		p->rows--;
		count_page(p);
	}
	needed = p->n_lines + p->n_parts - 1;
	while (p->plot < PLOT_MAX && p->lines[PART_PLOT] > 0 && needed < LINES) {
		p->plot++;
		p->n_lines++;
		needed++;
	}
}

/* The most rows that a list has. */
static size_t count_rows(const struct hl_result *r)
{
	const struct hl_overview *o = &((const struct hl_overview_result *)r->data)->overview;
	size_t most = 1;

	for (int id = 0; id < HL_OVERVIEW_LISTS; id++)
		most = o->lists[id].n > most ? o->lists[id].n : most;
	return most;
}

int hl_text_overview(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	struct page p = {.r = r, .opts = opts, .plot = PLOT_MIN, .rows = count_rows(r)};
	unsigned spare, shown = 0;

	lay_out(&p);
	spare = p.n_lines < LINES ? LINES - p.n_lines : 0;
	for (int i = 0; i < PARTS; i++) {
		if (p.lines[i] == 0)
			continue;
		if (shown++ > 0 && spare > 0) {
			putc('\n', out);
			spare--;
		}
		put_part(out, &p, i, opts);
	}
	return 0;
}

/* --- the end of a recording --- */

#define SHORT_ROWS 2

static void put_short_list(FILE *out, struct hl_model *m, const struct hl_overview *o,
	enum hl_overview_list_id id, const struct hl_text_opts *opts)
{
	if (o->lists[id].n > 0)
		put_list(out, m, o, id, SHORT_ROWS, opts);
}

/* Returns whether the blocks that are live at the end are at least 1 % of the peak. The short
 * overview then lists them; otherwise it lists churn, if a verdict is about that. */
static bool is_left(const struct hl_overview *o)
{
	return o->at_end.bytes > 0 && o->at_end.bytes >= o->peak.bytes / 100;
}

static bool has_verdict(const struct hl_overview *o, enum hl_overview_verdict_kind kind)
{
	for (size_t i = 0; i < o->n_verdicts; i++) {
		if (o->verdicts[i].kind == kind)
			return true;
	}
	return false;
}

void hl_text_overview_short(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	put_verdicts(out, m, o, opts);
	if (o->sites_state == HL_OVERVIEW_LEFT_OUT)
		put_fact(out, "call sites", "-", "their names take longer: see the next command",
			opts);
	put_short_list(out, m, o, HL_OVERVIEW_HELD, opts);
	if (is_left(o))
		put_short_list(out, m, o, HL_OVERVIEW_LEFT, opts);
	else if (has_verdict(o, HL_VERDICT_SHORT_LIVED))
		put_short_list(out, m, o, HL_OVERVIEW_CHURNING, opts);
}
