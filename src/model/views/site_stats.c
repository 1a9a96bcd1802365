/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_stats.c - lifetimes and live bytes over time of each site; see site_stats.h.
 *
 * A query has a row for each site of a table. A prefetched query does not know the table yet: it
 * adds a row for each site that it finds, up to a limit, and the rows of the table are picked
 * later.
 *
 * Without a filter the events are enough: a free has the site, size and lifetime of its block. A
 * filter may need more of the allocation, so then a stream follows each block.
 */
#include "model/query/query_plan.h"
#include "model/views/site_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "model/model_internal.h"
#include "model/scan/block_stream.h"
#include "model/scan/lifetime_class.h"
#include "model/scan/prefetch.h"

#define NO_ROW  UINT32_MAX
#define UNKNOWN (UINT32_MAX - 1)

struct site_row {
	struct hl_site_stat stat;
	uint64_t lifetimes[256]; /* number of blocks by hl_lifetime_class */
};

/* Rows of a prefetched query: at most 36 MiB. */
#define PREFETCHED_ROWS_MAX 16384u

struct stats_query {
	struct hl_prefetch base; /* must be the first member */
	struct hl_filter *filter;
	const struct hl_table *table; /* the sites are its first n_table rows; NULL: all sites */
	size_t n_table;
	struct hl_block_stream stream;
	struct hl_scan_consumer reading; /* without a filter: the consumer that the scan sees */
	unsigned point;                  /* the point after the newest event */
	uint64_t point_ns;               /* the last time before that point */
	struct hl_pair_map by_frame;     /* frame -> row */
	uint32_t *row_of; /* per node, the last: no stack; UNKNOWN: not computed yet */
	HL_VEC(struct site_row) rows;
	uint64_t end_ns;
};

static int add_row(struct stats_query *s, uint32_t frame, uint32_t *row)
{
	if (s->rows.len == PREFETCHED_ROWS_MAX && !s->table)
		return -EOVERFLOW;
	*row = (uint32_t)s->rows.len;
	if (hl_vec_reserve(&s->rows, s->rows.len + 1))
		return -ENOMEM;
	s->rows.data[s->rows.len++] = (struct site_row){0};
	return hl_pair_map_put(&s->by_frame, frame, 0, *row);
}

static int find_unknown_row(struct stats_query *s, uint32_t node, uint32_t *row)
{
	uint32_t frame;
	int err = hl_model_find_site(s->base.m, node, &frame);

	if (err)
		return err;
	*row = hl_pair_map_get(&s->by_frame, frame, 0);
	return *row == HL_PAIR_MAP_NONE && !s->table ? add_row(s, frame, row) : 0;
}

static int find_row(struct stats_query *s, uint32_t node, uint32_t *row)
{
	uint32_t *known = &s->row_of[node < s->base.m->n_nodes ? node : s->base.m->n_nodes];
	int err = *known == UNKNOWN ? find_unknown_row(s, node, known) : 0;

	*row = *known;
	return err;
}

/* The first point at or after a time; HL_SPARK_POINTS: none. Point k is at (k + 1) / n of the
 * run. */
static unsigned point_after(const struct stats_query *s, uint64_t ns)
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
	struct stats_query *s = arg;

	memset(s->rows.data, 0, s->rows.len * sizeof(*s->rows.data));
}

/* The points hold differences until compute_result: a block adds at its allocation and subtracts at
 * its free. */
static int add_block(void *arg, const struct hl_block *b)
{
	struct stats_query *s = arg;
	struct site_row *r;
	uint32_t row;
	unsigned k;
	int err = find_row(s, b->node, &row);

	if (err || row == NO_ROW)
		return err;
	r = &s->rows.data[row];
	k = point_after(s, b->alloc_ns);
	if (k < HL_SPARK_POINTS)
		r->stat.live[k] += b->bytes;
	if (b->free_ns == UINT64_MAX)
		return 0;
	k = point_after(s, b->free_ns);
	if (k < HL_SPARK_POINTS)
		r->stat.live[k] -= b->bytes;
	r->stat.freed += b->blocks;
	r->lifetimes[hl_lifetime_class(b->free_ns - b->alloc_ns)] += b->blocks;
	return 0;
}

/* --- without a filter --- */

/* The stream would need the same chunks. */
static int plan_events(struct hl_scan_consumer *r)
{
	struct stats_query *s = r->arg;
	int err = s->stream.consumer.plan(&s->stream.consumer);

	r->first = s->stream.consumer.first;
	r->last_end = s->stream.consumer.last_end;
	return err;
}

static int begin_events(void *arg)
{
	struct stats_query *s = arg;

	begin_stream(s);
	s->point = 0;
	s->point_ns = 0;
	return 0;
}

static int want_fields(void *arg, size_t chunk, unsigned *want)
{
	*want = HL_WANT_TIME | HL_WANT_NODE;
	return 0;
}

/* Times never decrease, so the point changes rarely. */
hl_inline unsigned next_point(struct stats_query *s, uint64_t ns)
{
	if (hl_unlikely(ns > s->point_ns)) {
		s->point = point_after(s, ns);
		s->point_ns = s->point < HL_SPARK_POINTS
				      ? (uint64_t)((unsigned __int128)s->end_ns * (s->point + 1) /
						   HL_SPARK_POINTS)
				      : UINT64_MAX;
	}
	return s->point;
}

static int add_event(struct stats_query *s, const struct hl_event *e)
{
	unsigned k = next_point(s, e->time_ns);
	struct site_row *r;
	uint32_t row = NO_ROW;
	int err = e->node != HL_NODE_NONE && e->node >= s->base.m->n_nodes
			  ? -EBADMSG
			  : find_row(s, e->node, &row);

	if (err || row == NO_ROW)
		return err;
	r = &s->rows.data[row];
	if (k < HL_SPARK_POINTS)
		r->stat.live[k] += e->op == HL_OP_ALLOC ? e->bytes : -e->bytes;
	if (e->op == HL_OP_FREE) {
		r->stat.freed += e->blocks;
		r->lifetimes[e->lifetime_class] += e->blocks;
	}
	return 0;
}

static int add_events(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	int err = 0;

	for (size_t i = 0; i < c->n_events && !err; i++) {
		hl_scan_prefetch_event(&c->events[i]);
		err = add_event(arg, &c->events[i]);
	}
	return err;
}

/* --- results --- */

/* The blocks of a base are a part of those that were live before it. */
static unsigned first_known_point(const struct stats_query *s)
{
	const struct hl_base *base = hl_model_base(s->base.m);

	return base->is_late ? point_after(s, base->time_ns) : 0;
}

static struct hl_site_stat compute_result(const struct stats_query *s, const struct site_row *r)
{
	struct hl_site_stat out = r->stat;
	uint64_t seen = 0;
	unsigned class = 0;

	for (unsigned k = 1; k < HL_SPARK_POINTS; k++)
		out.live[k] += out.live[k - 1];
	out.first_point = first_known_point(s);
	memset(out.live, 0, out.first_point * sizeof(*out.live));
	out.median_ns = UINT64_MAX;
	if (out.freed == 0)
		return out;
	while (class < 255 && (seen += r->lifetimes[class]) * 2 < out.freed)
		class ++;
	out.median_ns = hl_lifetime_class_ns((uint8_t) class);
	return out;
}

/* --- the query --- */

static int alloc_tables(struct stats_query *s)
{
	uint32_t row, n_nodes = s->base.m->n_nodes;
	int err = hl_vec_reserve(&s->rows, s->n_table + 1) ? -ENOMEM : 0;

	s->row_of = malloc(((size_t)n_nodes + 1) * sizeof(*s->row_of));
	if (err || !s->row_of)
		return -ENOMEM;
	for (size_t i = 0; i <= n_nodes; i++)
		s->row_of[i] = UNKNOWN;
	for (size_t i = 0; i < s->n_table && !err; i++)
		err = add_row(s, s->table->rows[i].frame, &row);
	return err;
}

static int start_query(struct hl_prefetch *q)
{
	struct stats_query *s = (struct stats_query *)q;
	int err = s->filter ? hl_filter_bind(s->filter, q->m) : 0;

	if (!err)
		err = alloc_tables(s);
	s->end_ns = hl_model_end_ns(q->m);
	s->stream = (struct hl_block_stream){.filter = s->filter,
		.from = {.is_exact = true},
		.to = hl_position_at(q->m, UINT64_MAX),
		.include_older = false,
		.read_all_frees = true,
		.unused = HL_WANT_ADDR | HL_WANT_FUNC,
		.begin = begin_stream,
		.block = add_block,
		.arg = s};
	hl_block_stream_init(&s->stream, q->m);
	s->reading = (struct hl_scan_consumer){.plan = plan_events,
		.begin = begin_events,
		.want = want_fields,
		.chunk = add_events,
		.arg = s};
	q->consumers[0] = s->filter ? &s->stream.consumer : &s->reading;
	q->consumers[0]->memory +=
		((uint64_t)q->m->n_nodes + 1) * sizeof(*s->row_of) +
		hl_min_u64(q->m->n_nodes + 1, PREFETCHED_ROWS_MAX) * sizeof(*s->rows.data);
	return err;
}

static bool equals_query(const struct hl_prefetch *a, const struct hl_prefetch *b)
{
	return ((const struct stats_query *)a)->filter == ((const struct stats_query *)b)->filter;
}

static void free_query(struct hl_prefetch *q)
{
	struct stats_query *s = (struct stats_query *)q;

	hl_block_stream_fini(&s->stream);
	hl_pair_map_fini(&s->by_frame);
	hl_vec_free(&s->rows);
	free(s->row_of);
	free(s);
}

static struct hl_prefetch *new_query(
	struct hl_model *m, struct hl_filter *filter, const struct hl_table *t, size_t n)
{
	static const struct hl_prefetch_kind kind = {start_query, equals_query, free_query};
	struct stats_query *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->base = (struct hl_prefetch){.kind = &kind, .m = m};
	s->filter = filter;
	s->table = t;
	s->n_table = n;
	return &s->base;
}

static int pick_rows(const struct stats_query *s, const struct hl_table *t, size_t n,
	struct hl_site_stat **stats)
{
	static const struct site_row none;

	*stats = malloc((n + 1) * sizeof(**stats));
	if (!*stats)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t row = hl_pair_map_get(&s->by_frame, t->rows[i].frame, 0);

		(*stats)[i] = compute_result(s, row == NO_ROW ? &none : &s->rows.data[row]);
	}
	return 0;
}

int hl_sites_stats(struct hl_model *m, const struct hl_table *t, size_t n, struct hl_filter *filter,
	struct hl_site_stat **stats)
{
	struct hl_prefetch *q;
	int err;

	*stats = NULL;
	n = n < t->n ? n : t->n;
	if (hl_model_has_aggregated(m))
		return 0;
	err = hl_model_require(m, HL_NEEDS_ORDER, "the lifetime of the blocks of a site");
	if (err)
		return err;
	q = new_query(m, filter, t, n);
	err = q ? hl_prefetch_run(&q) : hl_model_fail(m, -ENOMEM);
	if (!err && pick_rows((struct stats_query *)q, t, n, stats) < 0)
		err = hl_model_fail(m, -ENOMEM);
	if (q)
		free_query(q);
	return err;
}

void hl_sites_stats_prefetch(struct hl_model *m, struct hl_filter *filter)
{
	struct hl_prefetch *q = NULL;

	if (!hl_model_has_aggregated(m) && hl_model_has_event_order(m))
		q = new_query(m, filter, NULL, 0);
	if (q)
		hl_prefetch_add(q);
}
