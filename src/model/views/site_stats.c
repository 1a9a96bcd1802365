/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_stats.c - lifetimes and live bytes over time of each site; see site_stats.h.
 */
#include "model/views/site_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/scan/lifetime_class.h"
#include "model/model_internal.h"
#include "model/scan/block_stream.h"

#define NO_ROW  UINT32_MAX
#define UNKNOWN (UINT32_MAX - 1)

struct stats_builder {
	struct hl_model *m;
	size_t n;
	struct hl_pair_map rows;    /* frame -> row */
	uint32_t *row_of;           /* per node, the last: no stack; UNKNOWN: not computed yet */
	uint64_t (*lifetimes)[256]; /* per row: number of blocks by hl_lifetime_class */
	struct hl_site_stat *out;
	uint64_t end_ns;
};

static int find_row(struct stats_builder *s, uint32_t node, uint32_t *row)
{
	uint32_t at = node < s->m->n_nodes ? node : s->m->n_nodes, frame;
	int err = 0;

	if (s->row_of[at] == UNKNOWN) {
		err = hl_model_find_site(s->m, node, &frame);
		if (!err)
			s->row_of[at] = hl_pair_map_get(&s->rows, frame, 0);
	}
	*row = s->row_of[at];
	return err;
}

/* The first point at or after a time; HL_SPARK_POINTS: none. Point k is at (k + 1) / n of the
 * run. */
static unsigned point_after(const struct stats_builder *s, uint64_t ns)
{
	unsigned __int128 scaled = (unsigned __int128)ns * HL_SPARK_POINTS;
	uint64_t k;

	if (s->end_ns == 0 || ns == 0)
		return 0;
	k = (uint64_t)((scaled + s->end_ns - 1) / s->end_ns);
	return k > HL_SPARK_POINTS ? HL_SPARK_POINTS : (unsigned)k - 1;
}

static void begin_stream(void *arg)
{
	struct stats_builder *s = arg;

	memset(s->out, 0, (s->n + 1) * sizeof(*s->out));
	memset(s->lifetimes, 0, (s->n + 1) * sizeof(*s->lifetimes));
}

/* The points hold differences until compute_results: a block adds at its allocation and subtracts
 * at its free. */
static int add_block(void *arg, const struct hl_block *b)
{
	struct stats_builder *s = arg;
	struct hl_site_stat *out;
	uint32_t row;
	unsigned k;
	int err = find_row(s, b->node, &row);

	if (err || row == NO_ROW)
		return err;
	out = &s->out[row];
	k = point_after(s, b->alloc_ns);
	if (k < HL_SPARK_POINTS)
		out->live[k] += b->bytes;
	if (b->free_ns == UINT64_MAX)
		return 0;
	k = point_after(s, b->free_ns);
	if (k < HL_SPARK_POINTS)
		out->live[k] -= b->bytes;
	out->freed += b->blocks;
	s->lifetimes[row][hl_lifetime_class(b->free_ns - b->alloc_ns)] += b->blocks;
	return 0;
}

static void compute_results(struct stats_builder *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct hl_site_stat *out = &s->out[i];
		uint64_t seen = 0;
		unsigned class = 0;

		for (unsigned k = 1; k < HL_SPARK_POINTS; k++)
			out->live[k] += out->live[k - 1];
		out->median_ns = UINT64_MAX;
		if (out->freed == 0)
			continue;
		while (class < 255 && (seen += s->lifetimes[i][class]) * 2 < out->freed)
			class ++;
		out->median_ns = hl_lifetime_class_ns((uint8_t) class);
	}
}

static int alloc_tables(struct stats_builder *s, const struct hl_table *t)
{
	int err = 0;

	s->row_of = malloc(((size_t)s->m->n_nodes + 1) * sizeof(*s->row_of));
	s->lifetimes = malloc((s->n + 1) * sizeof(*s->lifetimes));
	s->out = malloc((s->n + 1) * sizeof(*s->out));
	if (!s->row_of || !s->lifetimes || !s->out)
		return -ENOMEM;
	for (size_t i = 0; i <= s->m->n_nodes; i++)
		s->row_of[i] = UNKNOWN;
	for (size_t i = 0; i < s->n && !err; i++)
		err = hl_pair_map_put(&s->rows, t->rows[i].frame, 0, (uint32_t)i);
	return err;
}

int hl_sites_stats(struct hl_model *m, const struct hl_table *t, size_t n, struct hl_filter *filter,
	struct hl_site_stat **stats)
{
	struct stats_builder s = {.m = m, .n = n < t->n ? n : t->n, .end_ns = hl_model_end_ns(m)};
	struct hl_block_stream stream = {.filter = filter,
		.from = {.is_exact = true},
		.to = hl_position_at(m, UINT64_MAX),
		.include_older = false,
		.read_all_frees = true,
		.begin = begin_stream,
		.block = add_block,
		.arg = &s};
	int err;

	*stats = NULL;
	if (hl_model_has_aggregated(m))
		return 0;
	if (!hl_model_has_event_order(m))
		return hl_model_no_event_order(m, "the lifetime of the blocks of a site");
	err = alloc_tables(&s, t);
	err = err ? hl_model_fail(m, err) : hl_block_stream_run(m, &stream);
	if (!err)
		compute_results(&s);
	free(s.row_of);
	free(s.lifetimes);
	hl_pair_map_fini(&s.rows);
	if (err)
		free(s.out);
	else
		*stats = s.out;
	return err;
}
