/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_stats.c - allocations and frees by thread; see thread_stats.h.
 *
 * Blocks are counted by the allocating thread. Blocks that another thread freed are also counted by
 * the pair of threads. All other values follow from these.
 */
#include "model/query/query_plan.h"
#include "model/views/thread_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/query/sums_by_key.h"
#include "model/model_internal.h"
#include "model/scan/prefetch.h"
#include "model/scan/block_stream.h"
#include "model/tags/roles.h"

struct thread_query {
	struct hl_prefetch base; /* must be the first member */
	struct hl_filter *filter;
	struct hl_threads t;
	hl_tally *tallies; /* by allocating thread, t.n */
	HL_VEC(struct hl_thread_pair) pairs;
	struct hl_pair_map by_pair;
	struct hl_block_stream stream;    /* used with a filter */
	struct hl_scan_consumer consumer; /* used without a filter */
	struct hl_position to;
};

static void reset_counts(void *arg)
{
	struct thread_query *a = arg;

	memset(a->tallies, 0, a->t.n * sizeof(*a->tallies));
	a->pairs.len = 0;
	hl_pair_map_fini(&a->by_pair);
	memset(&a->by_pair, 0, sizeof(a->by_pair));
}

static int add_pair(
	struct thread_query *a, uint32_t from, uint32_t to, uint64_t bytes, uint64_t blocks)
{
	uint32_t at = hl_pair_map_get(&a->by_pair, from, to);
	int err = 0;

	if (at == HL_PAIR_MAP_NONE) {
		at = (uint32_t)a->pairs.len;
		err = hl_vec_push(&a->pairs, ((struct hl_thread_pair){.from = from, .to = to}));
		if (!err)
			err = hl_pair_map_put(&a->by_pair, from, to, at);
	}
	if (!err)
		hl_tally_add(&a->pairs.data[at].value, bytes, blocks);
	return err;
}

static int add_block(void *arg, const struct hl_block *b)
{
	struct thread_query *a = arg;
	bool freed = b->free_ns != UINT64_MAX;

	if (b->thread >= a->t.n || (freed && b->free_thread >= a->t.n))
		return -EBADMSG;
	hl_tally_add(&a->tallies[b->thread][HL_OP_ALLOC], b->bytes, b->blocks);
	if (freed)
		hl_tally_add(&a->tallies[b->thread][HL_OP_FREE], b->bytes, b->blocks);
	return freed && b->free_thread != b->thread
		       ? add_pair(a, b->thread, b->free_thread, b->bytes, b->blocks)
		       : 0;
}

/* --- without a filter: a free has all that is needed, so no state is kept for blocks --- */

static int plan_scan(struct hl_scan_consumer *r)
{
	struct thread_query *a = r->arg;

	hl_scan_consumer_up_to(r, a->base.m, &a->to);
	return 0;
}

static int begin_scan(void *arg)
{
	reset_counts(arg);
	return 0;
}

static int select_columns(void *arg, size_t chunk, unsigned *want)
{
	*want = 0;
	return 0;
}

static int add_events(struct thread_query *a, const struct hl_event *events, size_t n)
{
	const struct hl_model *m = a->base.m;
	hl_tally *tallies = a->tallies;
	uint32_t n_threads = a->t.n;

	for (const struct hl_event *e = events; e < events + n; e++) {
		uint32_t from = hl_role_at(m, hl_event_alloc_role(e)).thread;
		uint32_t by = hl_role_at(m, e->thread).thread;

		if (hl_unlikely(from >= n_threads))
			return -EBADMSG;
		hl_tally_add(&tallies[from][e->op], e->bytes, e->blocks);
		if (hl_unlikely(from != by)) {
			int err = by < n_threads ? add_pair(a, from, by, e->bytes, e->blocks)
						 : -EBADMSG;

			if (err)
				return err;
		}
	}
	return 0;
}

/* The end position is never inside a chunk: it is the end of the trace, or before a damaged
 * chunk. */
static int add_chunk(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	struct thread_query *a = arg;
	struct hl_model *m = a->base.m;
	int err = add_events(a, c->events, c->n_events);

	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[chunk]);
	return err;
}

/* --- the query --- */

static int start_query(struct hl_prefetch *q)
{
	struct thread_query *a = (struct thread_query *)q;
	struct hl_model *m = q->m;
	int err = hl_reader_n_threads(m->reader, &a->t.n);

	if (err)
		return err;
	a->t.rows = calloc((size_t)a->t.n + 1, sizeof(*a->t.rows));
	a->tallies = calloc((size_t)a->t.n + 1, sizeof(*a->tallies));
	if (!a->t.rows || !a->tallies)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->t.n; i++)
		hl_reader_thread(m->reader, i, &a->t.rows[i].tid); /* 0 if it is damaged */
	a->to = hl_position_at(m, UINT64_MAX);
	a->stream = (struct hl_block_stream){.filter = a->filter,
		.from = {.is_exact = true},
		.to = a->to,
		.begin = reset_counts,
		.block = add_block,
		.arg = a};
	a->consumer = (struct hl_scan_consumer){.plan = plan_scan,
		.begin = begin_scan,
		.want = select_columns,
		.chunk = add_chunk,
		.arg = a};
	q->consumers[0] = &a->consumer;
	if (!a->filter)
		return 0;
	hl_block_stream_init(&a->stream, m);
	q->consumers[0] = &a->stream.consumer;
	return hl_filter_bind(a->filter, m);
}

static bool equals_query(const struct hl_prefetch *a, const struct hl_prefetch *b)
{
	return ((const struct thread_query *)a)->filter == ((const struct thread_query *)b)->filter;
}

static void free_query(struct hl_prefetch *q)
{
	struct thread_query *a = (struct thread_query *)q;

	hl_threads_fini(&a->t);
	free(a->tallies);
	hl_vec_free(&a->pairs);
	hl_pair_map_fini(&a->by_pair);
	hl_block_stream_fini(&a->stream);
	free(a);
}

static struct hl_prefetch *new_query(struct hl_model *m, struct hl_filter *filter)
{
	static const struct hl_prefetch_kind kind = {start_query, equals_query, free_query};
	struct thread_query *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->base = (struct hl_prefetch){.kind = &kind, .m = m};
	a->filter = filter;
	return &a->base;
}

static int compare_pairs(const void *pa, const void *pb)
{
	const struct hl_thread_pair *a = pa, *b = pb;

	if (a->value.blocks != b->value.blocks)
		return a->value.blocks > b->value.blocks ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void add_value(struct hl_value *v, const struct hl_value *more)
{
	v->bytes += more->bytes;
	v->blocks += more->blocks;
}

static struct hl_value subtract_value(const struct hl_value *a, const struct hl_value *b)
{
	return (struct hl_value){.bytes = a->bytes - b->bytes, .blocks = a->blocks - b->blocks};
}

static void fill_rows(struct thread_query *a)
{
	struct hl_thread_row *rows = a->t.rows;

	for (size_t i = 0; i < a->pairs.len; i++) {
		const struct hl_thread_pair *p = &a->pairs.data[i];

		add_value(&rows[p->from].freed_by_others, &p->value);
		add_value(&rows[p->to].freed, &p->value);
	}
	for (uint32_t i = 0; i < a->t.n; i++) {
		const struct hl_value *t = a->tallies[i];

		rows[i].allocated = t[HL_OP_ALLOC];
		rows[i].freed_own = subtract_value(&t[HL_OP_FREE], &rows[i].freed_by_others);
		rows[i].not_freed = subtract_value(&t[HL_OP_ALLOC], &t[HL_OP_FREE]);
		add_value(&rows[i].freed, &rows[i].freed_own);
	}
}

int hl_threads_build(struct hl_threads *t, struct hl_model *m, struct hl_filter *filter)
{
	struct hl_prefetch *q = new_query(m, filter);
	struct thread_query *a;
	int err;

	memset(t, 0, sizeof(*t));
	if (!q)
		return hl_model_fail(m, -ENOMEM);
	err = hl_model_require(m, HL_NEEDS_ORDER | HL_NEEDS_EVENTS, "the activity of each thread");
	if (err) {
		free_query(q);
		return err;
	}
	err = hl_prefetch_run(&q);
	a = (struct thread_query *)q;
	if (!err) {
		for (uint32_t i = 0; i < a->t.n; i++)
			a->t.rows[i].name = hl_model_thread_name(m, i);
		fill_rows(a);
		*t = a->t;
		t->pairs = a->pairs.data;
		t->n_pairs = a->pairs.len;
		a->t = (struct hl_threads){0};
		a->pairs.data = NULL;
	}
	if (t->n_pairs > 1)
		qsort(t->pairs, t->n_pairs, sizeof(*t->pairs), compare_pairs);
	free_query(q);
	return err;
}

void hl_threads_prefetch(struct hl_model *m, struct hl_filter *filter)
{
	struct hl_prefetch *q = new_query(m, filter);

	if (q)
		hl_prefetch_add(q);
}

void hl_threads_fini(struct hl_threads *t)
{
	free(t->rows);
	free(t->pairs);
	memset(t, 0, sizeof(*t));
}
