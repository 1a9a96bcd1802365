/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident_text.c - the memory of the whole process by mapping.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/safe_text.h"
#include "views/text/text_internal.h"

#define NUMBER_COLUMNS 10
#define EXACT_COLUMNS  16
#define TREND_SMALL    6
#define TREND_NORMAL   12

struct layout {
	int number;     /* width of a size */
	bool swap;      /* some memory is swapped: there is a column for it */
	unsigned trend; /* columns */
};

static struct layout find_layout(const struct hl_resident *x, const struct hl_text_opts *opts)
{
	struct layout l = {.number = opts->exact_bytes ? EXACT_COLUMNS : NUMBER_COLUMNS,
		.trend = TREND_NORMAL};

	for (size_t i = 0; i < x->n_groups; i++)
		l.swap |= x->groups[i].use.swap > 0;
	if (opts->width >= 120)
		l.trend = HL_RESIDENT_POINTS;
	else if (l.swap || opts->exact_bytes)
		l.trend = TREND_SMALL;
	return l;
}

static void put_sentences(FILE *out, struct hl_model *m, const struct hl_resident_result *r,
	const struct hl_text_opts *opts)
{
	const struct hl_resident *x = &r->resident;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], c[HL_TEXT_SIZE_MAX], d[HL_TEXT_SIZE_MAX];
	struct hl_strbuf s = {0};

	hl_strbuf_printf(&s, "%s resident: %s dirty, %s clean; ", hl_text_size(a, x->use.rss, opts),
		hl_text_size(b, x->use.dirty, opts), hl_text_size(c, x->use.clean, opts));
	hl_strbuf_printf(&s, "%s of it anonymous; ", hl_text_size(a, x->use.anonymous, opts));
	if (x->use.swap)
		hl_strbuf_printf(&s, "%s swapped; ", hl_text_size(a, x->use.swap, opts));
	hl_strbuf_printf(&s, "%s of addresses in %s mapping%s", hl_text_size(a, x->use.size, opts),
		hl_text_count(b, x->n_maps), x->n_maps == 1 ? "" : "s");
	hl_put_wrapped(out, hl_strbuf_str(&s), HL_STYLE_PLAIN, 0, opts);
	hl_strbuf_reset(&s);
	hl_strbuf_printf(&s, "sampled at %s, one of %s sample%s; at most %s resident, at %s",
		hl_text_duration(a, x->time_ns), hl_text_count(b, x->n_samples),
		x->n_samples == 1 ? "" : "s", hl_text_size(c, x->peak_rss, opts),
		hl_text_duration(d, x->peak_ns));
	hl_put_wrapped(out, hl_strbuf_str(&s), HL_STYLE_PLAIN, 0, opts);
	hl_strbuf_fini(&s);
	putc('\n', out);
}

static void put_header(FILE *out, const struct layout *l)
{
	fprintf(out, "%*s  %*s  ", l->number, "resident", l->number, "dirty");
	if (l->swap)
		fprintf(out, "%*s  ", l->number, "swap");
	fprintf(out, "%*s  %5s  %-*s  mapping\n", l->number, "size", "maps", (int)l->trend,
		"trend");
}

static size_t columns_before_name(const struct layout *l)
{
	return (size_t)(l->number + 2) * (l->swap ? 4 : 3) + 5 + 2 + l->trend + 2;
}

static const char *name_of(const struct hl_resident_group *g)
{
	if (g->kind == HL_RESIDENT_OTHERS)
		return "(others)";
	return *g->name ? g->name : "anonymous";
}

static void put_row(FILE *out, const struct hl_resident_group *g, const struct layout *l,
	unsigned first_known, struct hl_label *label, const struct hl_text_opts *opts)
{
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	fprintf(out, "%*s  %*s  ", l->number, hl_text_size(a, g->use.rss, opts), l->number,
		hl_text_size(b, g->use.dirty, opts));
	if (l->swap)
		fprintf(out, "%*s  ", l->number, hl_text_size(a, g->use.swap, opts));
	fprintf(out, "%*s  %5s  ", l->number, hl_text_size(a, g->use.size, opts),
		hl_text_count(b, g->maps));
	hl_put_spark(out, g->trend, HL_RESIDENT_POINTS, first_known, l->trend, opts->unicode);
	fputs("  ", out);
	hl_put_label(out, label, opts);
	putc('\n', out);
}

static void put_rows(FILE *out, const struct hl_resident *x, const struct hl_text_opts *opts)
{
	const struct layout l = find_layout(x, opts);
	size_t n = opts->limits.limited && opts->limits.limit < x->n_groups ? opts->limits.limit
									    : x->n_groups;
	struct hl_label *labels = calloc(n + 1, sizeof(*labels));

	for (size_t i = 0; i < n && labels; i++)
		labels[i] = (struct hl_label){.text = name_of(&x->groups[i]),
			.reserved_columns = columns_before_name(&l)};
	if (labels)
		hl_disambiguate(labels, n, opts);
	if (n > 0)
		put_header(out, &l);
	for (size_t i = 0; i < n && labels; i++) {
		const struct hl_value value = {
			.bytes = x->groups[i].use.rss, .blocks = x->groups[i].maps};

		if (!hl_row_begin(opts->rows, out, &value))
			continue;
		put_row(out, &x->groups[i], &l, x->first_known, &labels[i], opts);
		hl_row_end(opts->rows);
	}
	free(labels);
	hl_put_omitted_count(out, x->n_groups - n, "name", "names", opts);
}

int hl_text_resident(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_resident_result *x = r->data;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], title[512];

	snprintf(title, sizeof(title), "memory of the process by mapping, at %s of %s%s",
		hl_text_duration(a, x->moment_ns), hl_text_duration(b, hl_model_end_ns(r->m)),
		x->highest                            ? ", when most was resident"
		: r->part.quantity == HL_REQUEST_PEAK ? ", the peak of the heap"
						      : "");
	hl_put_title(out, title, opts);
	putc('\n', out);
	put_sentences(out, r->m, x, opts);
	put_rows(out, &x->resident, opts);
	return 0;
}
