/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_text.c - flat tables of an answer: functions, sites, sizes, lifetimes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/tags/roles.h"
#include "util/safe_text.h"
#include "util/terminal/wrap.h"
#include "views/text/text_internal.h"

/* --- additional columns of sites --- */

#define AVERAGE_WIDTH 10
#define LIFE_WIDTH    9
/* On narrower pages the average is omitted first: it is bytes divided by blocks, which are
 * shown. */
#define AVERAGE_MIN_WIDTH 100
/* Columns that the site's label should have, and the minimum. */
#define SITE_PREFERRED 30
#define SITE_MIN       24

struct layout {
	bool average;
	unsigned spark; /* columns of live bytes over time, a divisor of HL_SPARK_POINTS; 0: none */
};

static size_t layout_width(const struct layout *l)
{
	return (l->average ? AVERAGE_WIDTH + 2 : 0) + LIFE_WIDTH + 2 +
	       (l->spark ? l->spark + 2 : 0);
}

static struct layout choose_layout(const struct hl_row_values *numbers)
{
	static const unsigned narrower[] = {HL_SPARK_POINTS / 2, HL_SPARK_POINTS / 3};
	const struct hl_text_opts *opts = numbers->opts;
	struct layout l = {.average = true, .spark = HL_SPARK_POINTS};
	size_t room;

	if (!opts->shorten)
		return l;
	l.average = opts->width >= AVERAGE_MIN_WIDTH;
	room = opts->width > hl_row_values_width(numbers)
		       ? opts->width - hl_row_values_width(numbers)
		       : 0;
	for (size_t i = 0; i < 2 && layout_width(&l) + SITE_PREFERRED > room; i++)
		l.spark = narrower[i];
	if (layout_width(&l) + SITE_MIN > room)
		l.spark = 0;
	return l;
}

static const char *spark_title(unsigned columns)
{
	return columns >= 14 ? "live over time" : columns >= 9 ? "over time" : "live";
}

static void put_stat_headers(FILE *out, const struct layout *l)
{
	if (l->average)
		fprintf(out, "%*s  ", AVERAGE_WIDTH, "average");
	fprintf(out, "%*s  ", LIFE_WIDTH, "lifetime");
	if (l->spark)
		fprintf(out, "%-*s  ", (int)l->spark, spark_title(l->spark));
}

static void put_stat(FILE *out, const struct hl_table_row *r, const struct hl_site_stat *s,
	const struct layout *l, const struct hl_text_opts *opts)
{
	char average[HL_TEXT_SIZE_MAX], life[HL_TEXT_SIZE_MAX] = "-";

	if (s->median_ns != UINT64_MAX)
		hl_text_duration(life, s->median_ns);
	hl_text_size(average, r->value.blocks ? r->value.bytes / r->value.blocks : 0, opts);
	if (l->average)
		fprintf(out, "%*s  ", AVERAGE_WIDTH, average);
	fprintf(out, "%*s  ", LIFE_WIDTH, life);
	if (l->spark) {
		hl_put_spark(
			out, s->live, HL_SPARK_POINTS, s->first_point, l->spark, opts->unicode);
		fputs("  ", out);
	}
}

/* --- the rows --- */

#define SIZE_NAME_MAX (2 * HL_TEXT_SIZE_MAX + 5)

struct table_printer {
	FILE *out;
	struct hl_model *m;
	const struct hl_table *t;
	const struct hl_site_stat *stats;
	struct hl_row_values numbers;
	struct layout layout;
	struct hl_label *labels; /* of the rows that are shown */
	size_t n_labels;
	char (*sizes)[SIZE_NAME_MAX]; /* names of the rows by size, if sizes are exact */
};

/* The table's names of sizes are rounded. */
static const char *exact_name(const struct table_printer *p, size_t i)
{
	const struct hl_table_row *r = &p->t->rows[i];
	char lo[HL_TEXT_SIZE_MAX], hi[HL_TEXT_SIZE_MAX];

	if (!p->sizes || r->lo < 1024)
		return r->display_name;
	snprintf(p->sizes[i], sizeof(p->sizes[i]), "%s - < %s", hl_text_bytes_exact(lo, r->lo),
		hl_text_bytes_exact(hi, r->hi));
	return p->sizes[i];
}

static struct hl_label make_label(const struct table_printer *p, size_t i)
{
	const struct hl_table_row *r = &p->t->rows[i];

	return (struct hl_label){
		.frame = p->t->group == HL_GROUP_SITE ? hl_model_frame(p->m, r->frame) : NULL,
		.text = exact_name(p, i),
		.function = p->t->group == HL_GROUP_FUNCTION,
		.full_name = r->full_name,
		.reserved_columns = hl_row_values_width(&p->numbers) +
				    (p->stats ? layout_width(&p->layout) : 0),
	};
}

/* If memory is short, some labels may look the same. */
static void make_labels(struct table_printer *p, const bool *shown)
{
	p->labels = calloc(p->t->n + 1, sizeof(*p->labels));
	for (size_t i = 0; p->labels && i < p->t->n; i++) {
		if (!shown || shown[i])
			p->labels[p->n_labels++] = make_label(p, i);
	}
	if (p->labels)
		hl_disambiguate(p->labels, p->n_labels, p->numbers.opts);
}

static void put_column_headers(struct table_printer *p)
{
	putc('\n', p->out);
	hl_put_values_header(p->out, &p->numbers);
	if (p->stats)
		put_stat_headers(p->out, &p->layout);
	fprintf(p->out, "%s\n", hl_group_name(p->t->group));
}

/* The modules of a row whose label is a text: those of its stack, or that of its site. */
static void note_modules(const struct table_printer *p, const struct hl_table_row *r)
{
	const struct hl_text_opts *opts = p->numbers.opts;
	uint32_t frame;

	if (!opts->shown || hl_group_key(p->t->group) != HL_KEY_STACK)
		return;
	if (p->t->group == HL_GROUP_STACK)
		hl_note_shown_stack(p->m, r->key, opts);
	else if (hl_model_find_site(p->m, r->key, &frame) == 0)
		hl_note_shown_frame(hl_model_frame(p->m, frame), opts);
}

/* The columns of a stack that has lines of its own. */
#define STACK_INDENT 4

/* A stack that is wider than the rest of its row is below the figures, and wrapped. */
static bool has_own_lines(const struct table_printer *p, const struct hl_label *label)
{
	const struct hl_text_opts *opts = p->numbers.opts;

	return p->t->group == HL_GROUP_STACK && opts->shorten &&
	       label->reserved_columns + hl_display_columns(label->text, strlen(label->text)) >
		       opts->width;
}

static void put_stack_lines(struct table_printer *p, const struct hl_label *label)
{
	struct hl_strbuf text = {0};

	hl_text_escape(&text, label->text);
	fprintf(p->out, "\n%*s", STACK_INDENT, "");
	hl_wrap(p->out, hl_strbuf_str(&text), STACK_INDENT, STACK_INDENT + 2,
		(unsigned)p->numbers.opts->width);
	hl_strbuf_fini(&text);
}

static void put_row(struct table_printer *p, size_t i, size_t n_shown)
{
	const struct hl_table_row *r = &p->t->rows[i];
	struct hl_label label = p->labels ? p->labels[n_shown] : make_label(p, i);

	hl_put_values(p->out, &p->numbers, &r->value);
	if (p->stats)
		put_stat(p->out, r, &p->stats[i], &p->layout, p->numbers.opts);
	note_modules(p, r);
	if (has_own_lines(p, &label)) {
		put_stack_lines(p, &label);
		return;
	}
	hl_put_label(p->out, &label, p->numbers.opts);
	putc('\n', p->out);
}

static void put_row_within(struct table_printer *p, size_t i, size_t n_shown)
{
	struct hl_row_limit *rows = p->numbers.opts->rows;

	if (!hl_row_begin(rows, p->out, &p->t->rows[i].value))
		return;
	put_row(p, i, n_shown);
	hl_row_end(rows);
}

int hl_text_put_table(FILE *out, struct hl_model *m, const struct hl_table_result *x,
	const struct hl_text_opts *opts)
{
	const struct hl_table *t = &x->table;
	struct table_printer p = {.out = out, .m = m, .t = t, .stats = x->stats};
	struct hl_text_opts hidden_opts = *opts;
	bool *shown = hl_limits_select_table(&opts->limits, t);
	struct hl_value hidden = {0};
	uint64_t n_hidden = 0;
	size_t n_shown = 0;

	if (opts->exact_bytes && t->group == HL_GROUP_SIZE)
		p.sizes = calloc(t->n + 1, sizeof(*p.sizes));
	p.numbers = hl_row_values_make(&t->total, opts);
	p.layout = choose_layout(&p.numbers);
	hl_put_header(out, m, &x->answer, opts);
	if (t->n > 0)
		put_column_headers(&p);
	make_labels(&p, shown);
	for (size_t i = 0; i < t->n; i++) {
		if (!shown || shown[i]) {
			put_row_within(&p, i, n_shown++);
			continue;
		}
		n_hidden++;
		hidden.bytes += t->rows[i].value.bytes;
		hidden.blocks += t->rows[i].value.blocks;
	}
	free(shown);
	free(p.labels);
	free(p.sizes);
	if (hl_limits_keep_small(t))
		hidden_opts.limits.min_percent = 0;
	hl_put_hidden(out, &t->total, &hidden, n_hidden, "row", "rows", &hidden_opts);
	return 0;
}

int hl_text_table(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	return hl_text_put_table(out, r->m, r->data, opts);
}
