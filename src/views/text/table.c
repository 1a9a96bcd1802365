/*
 * table.c - flat tables of an answer: functions, sites, sizes, lifetimes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "views/text/text_internal.h"

/* A scale with holes is no scale: sizes, lifetimes and snapshots are shown whole, or the largest of
 * them. */
static bool is_scale(const struct hl_table *t)
{
	return hl_group_is_ordered(t->group) && t->group != HL_GROUP_THREAD;
}

static uint64_t least_of(const struct hl_table *t, const struct hl_text_opts *opts)
{
	return is_scale(t) ? 0 : hl_text_least(&t->total, opts);
}

static uint64_t size_of(const void *rows, size_t i, const struct hl_text_opts *opts)
{
	return hl_measure(&((const struct hl_row *)rows)[i].value, opts);
}

/* The first in the order that was asked for. */
static bool *pick_first(const struct hl_table *t, const struct hl_text_opts *opts)
{
	uint64_t least = least_of(t, opts);
	bool *shown = calloc(t->n + 1, sizeof(*shown));
	size_t n = 0;

	for (size_t i = 0; shown && i < t->n && !(opts->limited && n == opts->limit); i++) {
		shown[i] = size_of(t->rows, i, opts) >= least;
		n += shown[i];
	}
	return shown;
}

/* NULL, without memory: all. */
static bool *pick(const struct hl_table *t, const struct hl_text_opts *opts)
{
	return opts->own_order ? hl_pick(t->rows, t->n, size_of, least_of(t, opts), opts)
			       : pick_first(t, opts);
}

size_t hl_text_table_rows(const struct hl_table *t, const struct hl_text_opts *opts)
{
	bool *shown = pick(t, opts);
	size_t last = t->n;

	/* Stats are wanted of all rows up to the last one that is shown. */
	while (shown && last > 0 && !shown[last - 1])
		last--;
	free(shown);
	return last;
}

/* Live bytes over the run, each as high as its share of the highest. */
static void put_spark(FILE *out, const struct hl_site_stat *s, bool unicode)
{
	uint64_t max = 0;

	for (unsigned k = 0; k < HL_SPARK_POINTS; k++)
		max = s->live[k] > max ? s->live[k] : max;
	for (unsigned k = 0; k < HL_SPARK_POINTS; k++) {
		double part = max ? (double)s->live[k] * 8 / (double)max : 0;
		unsigned eighths = (unsigned)part;

		fputs(hl_bar(eighths + ((double)eighths < part), unicode), out);
	}
}

/* What put_stat takes. */
#define STAT_WIDTH (10 + 2 + 9 + 2 + HL_SPARK_POINTS + 2)

static void put_stat(FILE *out, const struct hl_row *r, const struct hl_site_stat *s, bool unicode)
{
	char average[HL_TEXT_SIZE_MAX], life[HL_TEXT_SIZE_MAX] = "-";

	if (s->median_ns != UINT64_MAX)
		hl_text_duration(life, s->median_ns);
	fprintf(out, "%10s  %9s  ",
		hl_text_bytes(average, r->value.blocks ? r->value.bytes / r->value.blocks : 0),
		life);
	put_spark(out, s, unicode);
	fputs("  ", out);
}

static void put_row(FILE *out, struct hl_model *m, const struct hl_table *t, size_t i,
	const struct hl_numbers *numbers, const struct hl_site_stat *stats)
{
	const struct hl_row *r = &t->rows[i];
	size_t used = hl_numbers_width(numbers) + (stats ? STAT_WIDTH : 0);

	hl_put_numbers(out, numbers, &r->value);
	if (stats)
		put_stat(out, r, &stats[i], numbers->opts->unicode);
	if (t->group == HL_GROUP_SITE)
		hl_put_frame(out, hl_model_frame(m, r->frame), r->full, numbers->opts, used);
	else
		hl_put_name(out, r->shown, numbers->opts, used);
	putc('\n', out);
}

void hl_text_table(FILE *out, struct hl_model *m, const struct hl_answer *a,
	const struct hl_table *t, const struct hl_site_stat *stats, const struct hl_text_opts *opts)
{
	struct hl_numbers numbers = hl_numbers_of(&t->total, opts);
	struct hl_text_opts said = *opts;
	bool *shown = pick(t, opts);
	struct hl_value hidden = {0};
	uint64_t n_hidden = 0;

	hl_put_head(out, m, a, opts);
	if (t->n > 0) {
		putc('\n', out);
		hl_put_numbers_head(out, &numbers);
	}
	if (t->n > 0 && stats)
		fprintf(out, "%10s  %9s  %-*s  ", "average", "med. life", HL_SPARK_POINTS,
			"live over time");
	if (t->n > 0)
		fprintf(out, "%s\n", hl_group_name(t->group));
	for (size_t i = 0; i < t->n; i++) {
		if (!shown || shown[i]) {
			put_row(out, m, t, i, &numbers, stats);
			continue;
		}
		n_hidden++;
		hidden.bytes += t->rows[i].value.bytes;
		hidden.blocks += t->rows[i].value.blocks;
	}
	free(shown);
	if (is_scale(t))
		said.min_percent = 0;
	hl_put_hidden(out, &t->total, &hidden, n_hidden, "row", "rows", &said);
}

/* --- JSON --- */

static void json_stat(struct hl_json *j, const struct hl_site_stat *s)
{
	hl_json_key_u64(j, "freed_blocks", s->freed);
	hl_json_key(j, "median_lifetime_ns");
	if (s->median_ns == UINT64_MAX)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, s->median_ns);
	hl_json_key(j, "live_bytes_over_time");
	hl_json_begin_array(j);
	for (unsigned k = 0; k < HL_SPARK_POINTS; k++)
		hl_json_u64(j, s->live[k]);
	hl_json_end_array(j);
}

/* A class of sizes or lifetimes; what has no bounds has null. */
static void json_bounds(struct hl_json *j, const struct hl_table *t, const struct hl_row *r)
{
	bool size = t->group == HL_GROUP_SIZE;

	hl_json_key(j, size ? "from_bytes" : "from_ns");
	if (r->lo == UINT64_MAX)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, r->lo);
	hl_json_key(j, size ? "below_bytes" : "below_ns");
	if (r->hi == UINT64_MAX)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, r->hi);
}

void hl_json_table(struct hl_json *j, struct hl_model *m, const struct hl_answer *a,
	const struct hl_table *t, const struct hl_site_stat *stats, size_t n_stats)
{
	hl_json_answer(j, a);
	hl_json_key_string(j, "group", hl_group_name(t->group));
	hl_json_key(j, "rows");
	hl_json_begin_array(j);
	for (size_t i = 0; i < t->n; i++) {
		const struct hl_row *r = &t->rows[i];

		hl_json_begin_object(j);
		hl_json_key_string(j, "name", r->name);
		hl_json_value(j, "", &r->value);
		if (r->frame != HL_NODE_NONE)
			hl_json_frame(j, hl_model_frame(m, r->frame));
		if (t->group == HL_GROUP_SIZE || t->group == HL_GROUP_LIFE)
			json_bounds(j, t, r);
		if (t->group == HL_GROUP_THREAD)
			hl_json_key_u64(j, "thread", r->key);
		if (stats && i < n_stats)
			json_stat(j, &stats[i]);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}
