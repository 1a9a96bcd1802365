/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetimes.c - see lifetimes.h.
 *
 * Whether the query counts a block may be known only at its free. So unless it counts all blocks,
 * the trace is read twice: first to set a bit for each allocation that counts, then to deliver
 * events and blocks.
 */
#include "model/query/query_plan.h"
#include "model/scan/lifetimes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/scan/block_stream.h"
#include "model/query/suppress.h"
#include "model/tags/roles.h"

#define NO_ORDINAL UINT64_MAX
#define WRITING    "writing"

struct lifetimes_run {
	struct hl_model *m;
	struct hl_lifetimes *l;
	uint8_t *chosen; /* a bit for each allocation; NULL: all */
	uint64_t n_chosen;
	struct hl_block_table live_blocks;
	struct hl_decode_ahead ahead;
};

/* --- choosing blocks --- */

static bool counts_all(const struct hl_model *m, const struct hl_query *q)
{
	if (hl_model_base(m)->is_late && !q->with_base)
		return false;
	return q->quantity == HL_QUANTITY_ALLOCATED && !q->filter && !q->suppressions &&
	       q->from.kind == HL_TIME_SPEC_NS && q->from.ns == 0 && q->to.kind == HL_TIME_SPEC_END;
}

static struct hl_position first_position(struct lifetimes_run *w)
{
	const struct hl_query *q = w->l->query;

	return q->with_base ? hl_position_start() : hl_query_from(w->m, &q->from);
}

static void reset_chosen(void *arg)
{
	struct lifetimes_run *w = arg;

	if (w->l->query->suppressions)
		hl_suppressions_reset(w->l->query->suppressions);
	memset(w->chosen, 0, w->n_chosen / 8 + 1);
}

static int choose_block(void *arg, const struct hl_block *b)
{
	struct lifetimes_run *w = arg;
	const struct hl_query *q = w->l->query;
	struct hl_value one = {.bytes = b->bytes, .blocks = b->blocks};
	int counts = hl_query_counts(q, w->m, b, &one);

	if (counts > 0 && b->ordinal < w->n_chosen)
		w->chosen[b->ordinal / 8] |= (uint8_t)(1u << b->ordinal % 8);
	return counts < 0 ? counts : 0;
}

static int choose_blocks(struct lifetimes_run *w)
{
	const struct hl_query *q = w->l->query;
	struct hl_block_stream s;
	int err = hl_query_bind(q, w->m);

	if (!err)
		err = w->l->aggregated ? hl_aggregated_check(w->m, q)
				       : hl_query_plan_blocks(w->m, q);
	if (err || counts_all(w->m, q))
		return err;
	err = hl_model_n_ordinals(w->m, q->pool, &w->n_chosen);
	if (err)
		return err;
	w->chosen = calloc(w->n_chosen / 8 + 1, 1);
	if (!w->chosen)
		return hl_model_fail(w->m, -ENOMEM);
	hl_query_init_stream(&s, w->m, q);
	if (q->quantity != HL_QUANTITY_LIVE)
		s.from = first_position(w);
	s.begin = reset_chosen;
	s.block = choose_block;
	s.arg = w;
	err = hl_block_stream_run(w->m, &s);
	w->l->before_damage |= s.to.before_damage || s.from.before_damage;
	return err;
}

static bool is_chosen(const struct lifetimes_run *w, uint64_t ordinal)
{
	return !w->chosen || (ordinal < w->n_chosen && w->chosen[ordinal / 8] >> ordinal % 8 & 1);
}

/* --- delivery --- */

/* Most blocks are freed soon, in the same chunk. They are built at their free and never put into
 * the table. */
static int add_live_block(struct lifetimes_run *w, const struct hl_event *e)
{
	struct hl_block b = hl_block_from_alloc(w->m, e, HL_RANGE_IN);

	return e->pair_index ? 0 : hl_block_table_put(&w->live_blocks, &b);
}

static int deliver_freed(struct lifetimes_run *w, struct hl_block *b, const struct hl_event *e)
{
	hl_block_set_freed(w->m, b, e);
	b->is_temporary = w->l->last_alloc == e->ordinal && !(e->flags & HL_EVENT_SPLIT);
	return w->l->block ? w->l->block(w->l->arg, b) : 0;
}

static int end_block(
	struct lifetimes_run *w, const struct hl_event *events, const struct hl_event *e)
{
	struct hl_block b;

	if (e->pair_index)
		b = hl_block_from_alloc(w->m, &events[e->pair_index - 1], HL_RANGE_IN);
	else if (!hl_block_table_take(&w->live_blocks, e->ordinal, &b))
		return 0; /* its allocation is before the first chunk that is read */
	return deliver_freed(w, &b, e);
}

static int deliver_event(
	struct lifetimes_run *w, const struct hl_event *events, const struct hl_event *e)
{
	struct hl_lifetimes *l = w->l;
	int err = 0;

	if (!is_chosen(w, e->ordinal))
		return 0;
	if (e->op == HL_OP_ALLOC) {
		l->allocated.bytes += e->bytes;
		l->allocated.blocks += e->blocks;
	}
	if (l->aggregated)
		hl_aggregated_add_event(l->aggregated, e);
	if (l->event)
		err = l->event(l->arg, e);
	if (!err && l->block)
		err = e->op == HL_OP_ALLOC ? add_live_block(w, e) : end_block(w, events, e);
	return err;
}

/* --- blocks of pools, which are in side events --- */

static struct hl_event event_of_extra(const struct hl_extra *x)
{
	return (struct hl_event){.time_ns = x->time_ns,
		.addr = x->addr,
		.size = x->size,
		.ordinal = x->value2,
		.node = x->node,
		.free_node = HL_NODE_NONE,
		.thread = x->thread,
		.op = HL_OP_ALLOC,
		.func = HL_FUNC_POOL,
		.blocks = 1,
		.bytes = x->size,
		.flags = x->value & HL_POOL_PARTED ? HL_EVENT_SPLIT : 0};
}

static int deliver_pool_alloc(struct lifetimes_run *w, const struct hl_extra *x)
{
	struct hl_lifetimes *l = w->l;
	struct hl_event e = event_of_extra(x);
	struct hl_block b;
	int err = 0;

	if (hl_block_table_take(&w->live_blocks, e.ordinal, &b))
		return hl_model_fail(w->m, -EBADMSG); /* a live block cannot be allocated again */
	if (!is_chosen(w, e.ordinal))
		return 0;
	l->allocated.bytes += e.bytes;
	l->allocated.blocks += e.blocks;
	if (l->event)
		err = l->event(l->arg, &e);
	b = hl_block_from_alloc(w->m, &e, HL_RANGE_IN);
	b.pool = (uint32_t)x->value;
	return err ? err : hl_block_table_put(&w->live_blocks, &b);
}

/* Only the ordinal of a pool's free is trusted. All other data comes from the allocation, which is
 * in the table. */
static int deliver_pool_free(struct lifetimes_run *w, const struct hl_extra *x)
{
	struct hl_event e = event_of_extra(x);
	struct hl_block b;
	int err = 0;

	if (!hl_block_table_take(&w->live_blocks, e.ordinal, &b))
		return 0;
	e.op = HL_OP_FREE;
	e.addr = b.addr;
	e.size = b.size;
	e.bytes = b.bytes;
	e.node = b.node;
	e.alloc_ns = b.alloc_ns;
	if (w->l->event)
		err = w->l->event(w->l->arg, &e);
	return err ? err : deliver_freed(w, &b, &e);
}

static int deliver_pools(struct lifetimes_run *w, const struct hl_chunk_events *c)
{
	int err = 0;

	for (size_t i = 0; i < c->n_extras && !err; i++) {
		const struct hl_extra *x = &c->extras[i];
		bool alloc = x->kind == HL_EXTRA_POOL_ALLOC;

		if (!hl_model_is_pooled(w->m, w->l->query->pool, x))
			continue;
		err = alloc ? deliver_pool_alloc(w, x) : deliver_pool_free(w, x);
		w->l->last_alloc = alloc ? x->value2 : NO_ORDINAL;
	}
	return err;
}

/* --- chunks --- */

static int deliver_extras(
	struct lifetimes_run *w, const struct hl_chunk_events *c, size_t event, size_t *next)
{
	int err = 0;

	while (!err && w->l->extra && *next < c->n_extras && c->extras_at[*next] <= event)
		err = w->l->extra(w->l->arg, &c->extras[(*next)++]);
	return err;
}

/* A stack that is not in the table of stacks would be used as an index later. */
static bool has_known_stacks(const struct lifetimes_run *w, const struct hl_chunk_events *c)
{
	for (size_t i = 0; i < c->n_events; i++) {
		if (c->events[i].node != HL_NODE_NONE && c->events[i].node >= w->m->n_nodes)
			return false;
		/* For blocks, the stack of the free is delivered too. */
		if (w->l->block && c->events[i].free_node != HL_NODE_NONE &&
			c->events[i].free_node >= w->m->n_nodes)
			return false;
	}
	for (size_t i = 0; i < c->n_extras && w->l->query->pool; i++) {
		if (c->extras[i].node != HL_NODE_NONE && c->extras[i].node >= w->m->n_nodes)
			return false;
	}
	return true;
}

static int deliver_chunk(struct lifetimes_run *w, size_t chunk, const struct hl_chunk_events *c)
{
	uint64_t first = hl_reader_chunk(w->m->reader, chunk)->first_event;
	size_t extra = 0;
	int err = 0;

	if (w->l->query->pool)
		return deliver_pools(w, c);
	w->l->last_alloc = NO_ORDINAL;
	if (c->follows_alloc)
		w->l->last_alloc = hl_reader_chunk(w->m->reader, chunk)->first_ordinal - 1;
	for (size_t i = 0; i < c->n_events && !err; i++) {
		const struct hl_event *e = &c->events[i];

		err = deliver_extras(w, c, i, &extra);
		w->l->event_index = first + i;
		if (!err)
			err = deliver_event(w, c->events, e);
		w->l->last_alloc = e->op == HL_OP_ALLOC ? e->ordinal : NO_ORDINAL;
	}
	return err ? err : deliver_extras(w, c, c->n_events, &extra);
}

/* Returns -EBADMSG if the data ends here. */
static int read_chunk(struct lifetimes_run *w, size_t chunk, struct hl_chunk_events *c)
{
	unsigned want = w->l->want | HL_WANT_NODE | (w->l->aggregated ? HL_WANT_TIME : 0) |
			(w->l->block || w->l->query->pool ? HL_WANT_ALL : 0);
	int err;

	if (hl_chunk_is_lost(w->m, chunk))
		return -EBADMSG;
	err = hl_decode_ahead_read(&w->ahead, chunk, hl_reader_n_chunks(w->m->reader), &want, c);
	if (!err && !has_known_stacks(w, c))
		err = -EBADMSG;
	if (err == -EBADMSG)
		hl_model_mark_bad(w->m, &w->m->bad_chunks[chunk]);
	return err;
}

static int deliver_all(struct lifetimes_run *w)
{
	const struct hl_query *q = w->l->query;
	size_t n = hl_reader_n_chunks(w->m->reader), i = 0;
	struct hl_chunk_events c = {0};
	int err = 0;

	if (q->quantity != HL_QUANTITY_LIVE)
		i = first_position(w).chunk;
	hl_decode_ahead_init(&w->ahead, w->m->reader);
	hl_work_begin(&w->m->work, HL_WORK_PASS, WRITING);
	for (; i < n && !err; i++) {
		err = hl_work_tick(&w->m->work, i, n);
		if (!err)
			err = read_chunk(w, i, &c);
		if (err == -EBADMSG) {
			w->l->before_damage = true;
			w->l->end_ns = i > 0 ? hl_reader_chunk(w->m->reader, i - 1)->t1_ns : 0;
			err = 0;
			break;
		}
		if (err)
			hl_model_fail(w->m, err);
		else
			err = deliver_chunk(w, i, &c);
	}
	hl_work_end(&w->m->work, HL_WORK_PASS);
	hl_decode_ahead_fini(&w->ahead);
	hl_chunk_events_free(&c);
	return err;
}

static int deliver(struct hl_model *m, struct hl_lifetimes *l)
{
	struct lifetimes_run w = {.m = m, .l = l};
	int err;

	l->allocated = (struct hl_value){0};
	l->before_damage = false;
	l->end_ns = hl_model_end_ns(m);
	/* A caller may read the lifetimes twice, the first time for data that it writes before
	 * them. */
	if (l->aggregated)
		hl_aggregated_restart(l->aggregated);
	err = choose_blocks(&w);
	if (!err)
		err = deliver_all(&w);
	/* Allocations up to a loss are a part of all allocations. What is live at a moment after a
	 * loss is not known at all. */
	if (!err && l->before_damage && l->query->quantity == HL_QUANTITY_LIVE &&
		hl_time_spec_ns(&l->query->to, m) > l->end_ns)
		err = hl_model_lost_before(m);
	if (!err && l->block)
		err = hl_block_table_in_order(&w.live_blocks, l->block, l->arg);
	if (!err && l->aggregated && (err = hl_aggregated_end(l->aggregated)) != 0)
		hl_model_fail(m, err);
	hl_block_table_fini(&w.live_blocks);
	free(w.chosen);
	return err;
}

/* The sums of all blocks have counted what is suppressed; events are only a part of them. */
static int deliver_with_sums(struct hl_model *m, struct hl_lifetimes *l)
{
	const struct hl_query *asked = l->query;
	struct hl_query q = *asked;
	int err = hl_suppressions_copy(asked->suppressions, &q.suppressions);

	l->query = &q;
	err = err ? hl_model_fail(m, err) : deliver(m, l);
	l->query = asked;
	hl_suppressions_free(q.suppressions);
	return err;
}

int hl_model_lifetimes(struct hl_model *m, struct hl_lifetimes *l)
{
	return l->aggregated && l->query->suppressions ? deliver_with_sums(m, l) : deliver(m, l);
}
