/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freed_by_text.c - which sites free the blocks of each site.
 */
#include <stdlib.h>
#include <string.h>

#include "util/safe_text.h"
#include "views/text/text_internal.h"

static const char *free_kind_text(struct hl_model *m, enum hl_free_kind e)
{
	static const char *const text[] = {
		"freed by ", "realloc in ", "address reused, no free was recorded", "not freed"};

	if (e == HL_FREED_BY_NONE && hl_model_info(m)->end.kind == HL_END_CONTINUED)
		return "not freed in this file, which another file continues";
	return text[e];
}

static void put_freeing_row(FILE *out, struct hl_model *m, const struct hl_row_values *n,
	const struct hl_freeing *f, const struct hl_text_opts *opts)
{
	const char *text = free_kind_text(m, f->kind);
	struct hl_label label = {.reserved_columns = hl_row_values_width(n) + 2 + strlen(text)};

	hl_put_values(out, n, &f->value);
	fprintf(out, "  %s%s%s", hl_text_style(opts, HL_STYLE_DIM), text,
		hl_text_style(opts, HL_STYLE_PLAIN));
	if (f->frame != HL_NODE_NONE) {
		label.frame = hl_model_frame(m, f->frame);
		hl_put_label(out, &label, opts);
	}
	putc('\n', out);
}

/* Prints a site and its freeings, without the small ones. */
static void put_site(FILE *out, struct hl_model *m, const struct hl_row_values *n,
	const struct hl_freed_by *f, const struct hl_freed_site *s, const struct hl_text_opts *opts)
{
	struct hl_label label = {
		.frame = hl_model_frame(m, s->frame), .reserved_columns = hl_row_values_width(n)};
	uint64_t least = hl_limits_minimum(&opts->limits, &s->value), hidden = 0;

	if (!hl_row_begin(opts->rows, out, &s->value))
		return;
	hl_put_values(out, n, &s->value);
	hl_put_label(out, &label, opts);
	putc('\n', out);
	if (!hl_row_end(opts->rows))
		return;
	for (size_t i = 0; i < s->n; i++) {
		const struct hl_freeing *freeing = &f->freeings[s->first + i];

		if (hl_limits_size(&opts->limits, &freeing->value) < least ||
			(opts->limits.limited && i >= opts->limits.limit))
			hidden++;
		else if (hl_row_begin(opts->rows, out, NULL)) {
			put_freeing_row(out, m, n, freeing, opts);
			hl_row_end(opts->rows);
		}
	}
	hl_put_omitted_count(out, hidden, "freeing site", "freeing sites", opts);
}

int hl_text_freed_by(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_freed_by *f = r->data;
	struct hl_model *m = r->m;
	struct hl_row_values n = hl_row_values_make(&f->answer.total, opts);
	uint64_t least = hl_limits_minimum(&opts->limits, &f->answer.total), hidden = 0;

	hl_put_header(out, m, &f->answer, opts);
	if (f->n_sites > 0) {
		putc('\n', out);
		hl_put_values_header(out, &n);
		fputs("allocated at, and freed by\n", out);
	}
	for (size_t i = 0; i < f->n_sites; i++) {
		if (hl_limits_size(&opts->limits, &f->sites[i].value) < least ||
			(opts->limits.limited && i >= opts->limits.limit))
			hidden++;
		else
			put_site(out, m, &n, f, &f->sites[i], opts);
	}
	hl_put_omitted_count(out, hidden, "site", "sites", opts);
	return 0;
}
