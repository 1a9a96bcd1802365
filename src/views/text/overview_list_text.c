/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_list_text.c - a list of call sites in the overview.
 */
#include <stdlib.h>

#include "views/text/overview_text_internal.h"

#define VALUE_MIN   10 /* the bytes of a row, as in row_layout.c */
#define TITLE_WIDTH 19 /* share and bytes: the titles of lists are above them */

static const char *list_title(const struct hl_overview *o, enum hl_overview_list_id id)
{
	switch (id) {
	case HL_OVERVIEW_HELD:
		return "held at the peak";
	case HL_OVERVIEW_LEFT:
		return o->leaked ? "not freed" : "live at the end";
	case HL_OVERVIEW_GROWING:
		return "growing";
	default:
		return "churning by bytes";
	}
}

/* Why a list is empty. */
static const char *list_note(struct hl_model *m, const struct hl_overview *o,
	const struct hl_overview_list *l, enum hl_overview_list_id id)
{
	if (l->state == HL_OVERVIEW_LEFT_OUT)
		return "left out: it takes longer than --max-time";
	if (l->state == HL_OVERVIEW_NOT_KNOWN)
		return !hl_model_has_event_order(m) ? "not known: a profile has no moments"
		       : hl_model_has_aggregated(m)
			       ? "not known: the mode of recording kept only sums"
			       : "not known: part of the run is not in the trace";
	if (o->estimated && l->all == 0)
		return "no sample shows any; blocks without a sample are not known";
	switch (id) {
	case HL_OVERVIEW_GROWING:
		return l->all > 0 ? "nothing above 1 % of the peak"
				  : "nothing: no site held more all through the last third";
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

	fprintf(p->out, "%s%-*s%s", hl_text_bold(p->opts),
		TITLE_WIDTH - VALUE_MIN + p->numbers.bytes_width + margin_columns(p),
		list_title(p->o, p->id), hl_text_plain(p->opts));
	fprintf(p->out, "  %s%*s  ", hl_text_dim(p->opts), p->numbers.blocks_width, "blocks");
	if (p->trend)
		fprintf(p->out, "%-*s  ", (int)p->trend, churning ? "rate" : "trend");
	fprintf(p->out, "call site%s%s\n", p->o->estimated ? " (estimates)" : "",
		hl_text_plain(p->opts));
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

static const struct hl_overview_site *site_of_row(const struct list_printer *p, size_t i)
{
	return &p->o->sites[p->l->sites[hl_overview_row(p->l, i, p->rows)]];
}

/* --- the caller of the first row --- */

/* Not if the list before has the same site in its first row. */
static bool has_caller(const struct list_printer *p)
{
	const struct hl_overview_list *l = p->l;

	for (int id = 0; id < (int)p->id; id++) {
		const struct hl_overview_list *other = &p->o->lists[id];

		if (other->n > 0 && other->sites[0] == l->sites[0])
			return false;
	}
	return l->callers && l->callers[0].frame != HL_NODE_NONE &&
	       l->callers[0].percent >= HL_OVERVIEW_CALLER_PERCENT;
}

/* "   from unpack_entry  packfile.c:1750", below the call site */
static void put_caller(struct list_printer *p, const struct hl_label *site)
{
	const struct hl_frame *f = hl_model_frame(p->m, p->l->callers[0].frame);
	struct hl_label label = {
		.frame = f, .reserved_columns = site->reserved_columns + sizeof("from")};

	hl_disambiguate(&label, 1, p->opts);
	fprintf(p->out, "%*s%sfrom%s ", (int)site->reserved_columns, "", hl_text_dim(p->opts),
		hl_text_plain(p->opts));
	hl_put_label(p->out, &label, p->opts);
	putc('\n', p->out);
}

static void put_rows(struct list_printer *p)
{
	size_t n = p->l->n < p->rows ? p->l->n : p->rows;
	struct hl_label *labels = calloc(n + 1, sizeof(*labels));

	for (size_t i = 0; i < n && labels; i++) {
		const struct hl_overview_site *s = site_of_row(p, i);

		labels[i] = (struct hl_label){.frame = hl_model_frame(p->m, s->frame),
			.full_name = s->full_name,
			.reserved_columns =
				hl_row_values_width(&p->numbers) + (p->trend ? p->trend + 2 : 0)};
	}
	if (labels)
		hl_disambiguate(labels, n, p->opts);
	for (size_t i = 0; i < n && labels; i++) {
		const struct hl_overview_site *s = site_of_row(p, i);

		/* Bytes held, left, grown and churned have no sum. */
		if (!hl_row_begin(p->opts->rows, p->out, NULL))
			continue;
		put_row(p, s, &labels[i]);
		if (i == 0 && has_caller(p))
			put_caller(p, &labels[0]);
		hl_row_end(p->opts->rows);
	}
	free(labels);
}

void hl_overview_put_list(FILE *out, struct hl_model *m, const struct hl_overview *o,
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

	p.numbers = hl_row_values_make(&p.l->total, &own);
	p.trend = trend_columns(o, opts);
	if (p.l->n == 0) {
		fprintf(out, "%s%-*s%s  %s%s%s\n", hl_text_bold(opts), TITLE_WIDTH,
			list_title(o, id), hl_text_plain(opts), hl_text_dim(opts),
			list_note(m, o, p.l, id), hl_text_plain(opts));
		return;
	}
	if (hl_row_limit_left(opts->rows) > 0)
		put_list_header(&p);
	put_rows(&p);
}
