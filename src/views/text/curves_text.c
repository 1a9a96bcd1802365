/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves_text.c - live bytes over time of the rows of a table, as a small plot in each row.
 */
#include <errno.h>
#include <stdlib.h>

#include "views/text/text_internal.h"

/* The plots take a part of the page; the name of the row takes the rest. */
#define PLOT_MIN    8
#define PLOT_MAX    60
#define VALUE_WIDTH 10
#define EXACT_WIDTH 18

struct curves_printer {
	FILE *out;
	const struct hl_group_curves *c;
	const struct hl_text_opts *opts;
	int value_width;
	unsigned plot; /* columns */
	struct hl_label *labels;
};

static unsigned choose_plot(const struct hl_text_opts *opts, size_t points)
{
	size_t plot = opts->width * 3 / 10;

	plot = plot < PLOT_MIN ? PLOT_MIN : plot > PLOT_MAX ? PLOT_MAX : plot;
	return (unsigned)(plot < points ? plot : points);
}

/* --- a plot --- */

/* The highest known value of a column. False: none is known. */
static bool find_highest(
	const struct curves_printer *p, const uint64_t *values, unsigned column, uint64_t *highest)
{
	size_t n = p->c->n_points, end = n * (column + 1) / p->plot;
	bool known = false;

	*highest = 0;
	for (size_t k = n * column / p->plot; k < end; k++) {
		if (!p->c->known[k])
			continue;
		known = true;
		*highest = values[k] > *highest ? values[k] : *highest;
	}
	return known;
}

static uint64_t find_top(const struct curves_printer *p, const uint64_t *values)
{
	uint64_t top = 0, highest;

	for (unsigned column = 0; column < p->plot; column++) {
		if (find_highest(p, values, column, &highest))
			top = highest > top ? highest : top;
	}
	return top;
}

/* Relative to the highest value of the row. */
static void put_plot(const struct curves_printer *p, const uint64_t *values)
{
	uint64_t top = find_top(p, values), highest;

	for (unsigned column = 0; column < p->plot; column++) {
		double part;
		unsigned eighths;

		if (!find_highest(p, values, column, &highest)) {
			putc('?', p->out);
			continue;
		}
		part = top ? (double)highest * 8 / (double)top : 0;
		eighths = (unsigned)part;
		fputs(hl_bar(eighths + ((double)eighths < part), p->opts->unicode), p->out);
	}
}

/* --- rows --- */

static size_t reserved_columns(const struct curves_printer *p)
{
	return 2 * ((size_t)p->value_width + 2) + p->plot + 2;
}

/* The value at the last known moment, which is the end unless events are lost. */
static void put_numbers(const struct curves_printer *p, const uint64_t *values)
{
	char at_most[HL_TEXT_SIZE_MAX], at_end[HL_TEXT_SIZE_MAX] = "?";
	size_t n = p->c->n_points;

	if (p->c->known[n - 1])
		hl_text_size(at_end, values[n - 1], p->opts);
	fprintf(p->out, "%*s  %*s  ", p->value_width,
		hl_text_size(at_most, find_top(p, values), p->opts), p->value_width, at_end);
	put_plot(p, values);
	fputs("  ", p->out);
}

static struct hl_label make_label(const struct curves_printer *p, struct hl_model *m, size_t i)
{
	const struct hl_table *t = &p->c->table;
	const struct hl_table_row *r = &t->rows[i];

	return (struct hl_label){
		.frame = t->group == HL_GROUP_SITE ? hl_model_frame(m, r->frame) : NULL,
		.text = r->display_name,
		.function = t->group == HL_GROUP_FUNCTION,
		.full_name = r->full_name,
		.reserved_columns = reserved_columns(p)};
}

static void note_modules(const struct curves_printer *p, struct hl_model *m, size_t i)
{
	const struct hl_table *t = &p->c->table;
	uint32_t frame;

	if (!p->opts->shown || hl_group_key(t->group) != HL_KEY_STACK)
		return;
	if (t->group == HL_GROUP_STACK)
		hl_note_shown_stack(m, t->rows[i].key, p->opts);
	else if (hl_model_find_site(m, t->rows[i].key, &frame) == 0)
		hl_note_shown_frame(hl_model_frame(m, frame), p->opts);
}

static void put_row(const struct curves_printer *p, struct hl_model *m, size_t i)
{
	if (!hl_row_begin(p->opts->rows, p->out, NULL))
		return;
	put_numbers(p, p->c->live + i * p->c->n_points);
	hl_put_label(p->out, &p->labels[i], p->opts);
	note_modules(p, m, i);
	putc('\n', p->out);
	hl_row_end(p->opts->rows);
}

static void put_others(const struct curves_printer *p)
{
	char n[HL_TEXT_SIZE_MAX];

	if (p->c->n_others == 0)
		return;
	put_numbers(p, p->c->others);
	fprintf(p->out, "%s other%s; -n 0 shows all\n", hl_text_count(n, p->c->n_others),
		p->c->n_others == 1 ? "" : "s");
}

static void put_title(const struct curves_printer *p, const struct hl_result *r)
{
	const struct hl_curves_result *x = r->data;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];
	struct hl_strbuf text = {0};

	hl_text_duration(all, hl_model_end_ns(r->m));
	hl_strbuf_puts(&text, p->opts->quantity_text);
	if (x->is_part || x->known.from_ns > p->c->range.from_ns)
		hl_strbuf_printf(&text, " from %s to %s of %s",
			hl_text_begin(a, r->m, x->known.from_ns),
			hl_text_duration(b, x->known.to_ns), all);
	else
		hl_strbuf_printf(&text, " over %s", all);
	hl_strbuf_printf(&text, ", at %zu moments%s%s", p->c->n_points,
		x->estimated ? ", estimated from samples" : "",
		p->c->before_damage ? ", in the readable part" : "");
	hl_put_title(p->out, hl_strbuf_str(&text), p->opts);
	hl_strbuf_fini(&text);
}

static void put_header(const struct curves_printer *p)
{
	fprintf(p->out, "\n%*s  %*s  %-*s  %s\n", p->value_width, "highest", p->value_width,
		p->c->range.to_ns > 0 ? "at the end" : "", (int)p->plot,
		p->plot >= 14 ? "live over time" : "live", hl_group_name(p->c->table.group));
}

int hl_text_curves(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_curves_result *x = r->data;
	const struct hl_group_curves *c = &x->curves;
	struct curves_printer p = {.out = out,
		.c = c,
		.opts = opts,
		.value_width = opts->exact_bytes ? EXACT_WIDTH : VALUE_WIDTH,
		.plot = choose_plot(opts, c->n_points)};

	p.labels = calloc(c->table.n + 1, sizeof(*p.labels));
	if (!p.labels)
		return -ENOMEM;
	for (size_t i = 0; i < c->table.n; i++)
		p.labels[i] = make_label(&p, r->m, i);
	hl_disambiguate(p.labels, c->table.n, opts);
	put_title(&p, r);
	put_header(&p);
	put_numbers(&p, c->total);
	fputs("all\n", out);
	for (size_t i = 0; i < c->table.n; i++)
		put_row(&p, r->m, i);
	put_others(&p);
	free(p.labels);
	return 0;
}
