/*
 * lives.c - see lives.h.
 *
 * Which blocks count may be known only when they are dead. So unless all do, the trace is read
 * twice: first for a bit for each allocation, then to hand over.
 */
#include "model/lives.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/stream.h"
#include "model/suppress.h"
#include "model/tags.h"

#define NO_ORDINAL UINT64_MAX
#define WRITING    "writing"

struct work {
	struct hl_model *m;
	struct hl_lives *l;
	uint8_t *chosen; /* a bit for each allocation; NULL: all */
	uint64_t n_chosen;
	struct hl_blocks alive;
};

/* --- which blocks --- */

static bool all_count(const struct hl_query *q)
{
	return q->quantity == HL_QUANTITY_ALLOCATED && !q->filter && !q->suppressions &&
	       q->from.kind == HL_WHEN_NS && q->from.ns == 0 && q->to.kind == HL_WHEN_END;
}

static void choose_begin(void *arg)
{
	struct work *w = arg;

	if (w->l->query->suppressions)
		hl_suppressions_reset(w->l->query->suppressions);
	memset(w->chosen, 0, w->n_chosen / 8 + 1);
}

static int choose_block(void *arg, const struct hl_block *b)
{
	struct work *w = arg;
	const struct hl_query *q = w->l->query;
	struct hl_value one = {.bytes = b->bytes, .blocks = b->blocks};
	bool taken = false;
	int err = 0;

	if (!hl_query_counts(q, b))
		return 0;
	if (q->suppressions)
		err = hl_suppressions_take(q->suppressions, w->m, b->node, b->func, &one, &taken);
	if (!err && !taken && b->ordinal < w->n_chosen)
		w->chosen[b->ordinal / 8] |= (uint8_t)(1u << b->ordinal % 8);
	return err;
}

static int choose(struct work *w)
{
	const struct hl_query *q = w->l->query;
	bool live = q->quantity == HL_QUANTITY_LIVE;
	struct hl_stream s = {.filter = q->filter,
		.pool = q->pool,
		.older = live,
		.at_birth = q->quantity == HL_QUANTITY_ALLOCATED,
		.func = q->suppressions && hl_suppressions_need_calls(q->suppressions),
		.begin = choose_begin,
		.block = choose_block,
		.arg = w};
	int err = hl_query_bind(q, w->m);

	if (!err)
		err = w->l->rest ? hl_rest_check(w->m, q) : hl_query_check_lives(w->m, q);
	if (err || all_count(q))
		return err;
	err = hl_model_n_ordinals(w->m, q->pool, &w->n_chosen);
	if (err)
		return err;
	w->chosen = calloc(w->n_chosen / 8 + 1, 1);
	if (!w->chosen)
		return hl_model_fail(w->m, -ENOMEM);
	s.to = hl_query_to(w->m, &q->to);
	s.from = live ? s.to : hl_query_from(w->m, &q->from);
	err = hl_stream_blocks(w->m, &s);
	w->l->moved |= s.to.moved || s.from.moved;
	return err;
}

static bool is_chosen(const struct work *w, uint64_t ordinal)
{
	return !w->chosen || (ordinal < w->n_chosen && w->chosen[ordinal / 8] >> ordinal % 8 & 1);
}

/* --- one by one --- */

/* Most die soon, in the same chunk: they are made when they do, and lie in no table. */
static int keep(struct work *w, const struct hl_event *e)
{
	struct hl_block b = hl_block_born(w->m, e, HL_PHASE_IN);

	return e->pair_at ? 0 : hl_blocks_put(&w->alive, &b);
}

static int die(struct work *w, struct hl_block *b, const struct hl_event *e)
{
	hl_block_freed(w->m, b, e);
	b->next = w->l->previous == e->ordinal && !(e->flags & HL_EVENT_PARTED);
	return w->l->block ? w->l->block(w->l->arg, b) : 0;
}

static int end_block(struct work *w, const struct hl_event *events, const struct hl_event *e)
{
	struct hl_block b;

	if (e->pair_at)
		b = hl_block_born(w->m, &events[e->pair_at - 1], HL_PHASE_IN);
	else if (!hl_blocks_take(&w->alive, e->ordinal, &b))
		return 0; /* its birth is before what is read */
	return die(w, &b, e);
}

static int hand_over(struct work *w, const struct hl_event *events, const struct hl_event *e)
{
	struct hl_lives *l = w->l;
	int err = 0;

	if (!is_chosen(w, e->ordinal))
		return 0;
	if (e->op == HL_OP_ALLOC) {
		l->allocated.bytes += e->bytes;
		l->allocated.blocks += e->blocks;
	}
	if (l->rest)
		hl_rest_take(l->rest, e);
	if (l->event)
		err = l->event(l->arg, e);
	if (!err && l->block)
		err = e->op == HL_OP_ALLOC ? keep(w, e) : end_block(w, events, e);
	return err;
}

/* --- blocks of pools, which lie between the events --- */

static struct hl_event event_of(const struct hl_extra *x)
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
		.flags = x->value & HL_POOL_PARTED ? HL_EVENT_PARTED : 0};
}

static int pool_alloc(struct work *w, const struct hl_extra *x)
{
	struct hl_lives *l = w->l;
	struct hl_event e = event_of(x);
	struct hl_block b;
	int err = 0;

	if (hl_blocks_take(&w->alive, e.ordinal, &b))
		return hl_model_fail(w->m, -EBADMSG); /* no block is given out twice */
	if (!is_chosen(w, e.ordinal))
		return 0;
	l->allocated.bytes += e.bytes;
	l->allocated.blocks += e.blocks;
	if (l->event)
		err = l->event(l->arg, &e);
	b = hl_block_born(w->m, &e, HL_PHASE_IN);
	b.pool = (uint32_t)x->value;
	return err ? err : hl_blocks_put(&w->alive, &b);
}

/* Of a free nothing is trusted but whose it is: what was allocated is in the table. */
static int pool_free(struct work *w, const struct hl_extra *x)
{
	struct hl_event e = event_of(x);
	struct hl_block b;
	int err = 0;

	if (!hl_blocks_take(&w->alive, e.ordinal, &b))
		return 0;
	e.op = HL_OP_FREE;
	e.addr = b.addr;
	e.size = b.size;
	e.bytes = b.bytes;
	e.node = b.node;
	e.birth_ns = b.birth_ns;
	if (w->l->event)
		err = w->l->event(w->l->arg, &e);
	return err ? err : die(w, &b, &e);
}

static int take_pools(struct work *w, const struct hl_chunk_events *c)
{
	int err = 0;

	for (size_t i = 0; i < c->n_extras && !err; i++) {
		const struct hl_extra *x = &c->extras[i];
		bool alloc = x->kind == HL_EXTRA_POOL_ALLOC;

		if (!hl_model_is_pooled(w->m, w->l->query->pool, x))
			continue;
		err = alloc ? pool_alloc(w, x) : pool_free(w, x);
		w->l->previous = alloc ? x->value2 : NO_ORDINAL;
	}
	return err;
}

/* --- chunk by chunk --- */

static int extras_before(
	struct work *w, const struct hl_chunk_events *c, size_t event, size_t *next)
{
	int err = 0;

	while (!err && w->l->extra && *next < c->n_extras && c->extras_at[*next] <= event)
		err = w->l->extra(w->l->arg, &c->extras[(*next)++]);
	return err;
}

/* Stacks that are not in the table would be asked for by their number. */
static bool has_known_stacks(const struct work *w, const struct hl_chunk_events *c)
{
	for (size_t i = 0; i < c->n_events; i++) {
		if (c->events[i].node != HL_NODE_NONE && c->events[i].node >= w->m->n_nodes)
			return false;
		/* Of blocks that are handed over the stack of the free is, too. */
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

static int take_chunk(struct work *w, size_t chunk, const struct hl_chunk_events *c)
{
	uint64_t first = hl_reader_chunk(w->m->reader, chunk)->first_event;
	size_t extra = 0;
	int err = 0;

	if (w->l->query->pool)
		return take_pools(w, c);
	w->l->previous = NO_ORDINAL;
	if (c->follows_alloc)
		w->l->previous = hl_reader_chunk(w->m->reader, chunk)->first_ordinal - 1;
	for (size_t i = 0; i < c->n_events && !err; i++) {
		const struct hl_event *e = &c->events[i];

		err = extras_before(w, c, i, &extra);
		w->l->number = first + i;
		if (!err)
			err = hand_over(w, c->events, e);
		w->l->previous = e->op == HL_OP_ALLOC ? e->ordinal : NO_ORDINAL;
	}
	return err ? err : extras_before(w, c, c->n_events, &extra);
}

/* -EBADMSG: here it ends. */
static int read_chunk(struct work *w, size_t chunk, struct hl_chunk_events *c)
{
	unsigned want = w->l->want | HL_WANT_NODE | (w->l->rest ? HL_WANT_TIME : 0) |
			(w->l->block || w->l->query->pool ? HL_WANT_ALL : 0);
	int err;

	if (hl_chunk_is_lost(w->m, chunk))
		return -EBADMSG;
	err = hl_reader_decode_some(w->m->reader, chunk, want, c);
	if (!err && !has_known_stacks(w, c))
		err = -EBADMSG;
	if (err == -EBADMSG)
		hl_model_mark_bad(w->m, &w->m->bad_chunks[chunk]);
	return err;
}

static int take_all(struct work *w)
{
	const struct hl_query *q = w->l->query;
	size_t n = hl_reader_n_chunks(w->m->reader), i = 0;
	struct hl_chunk_events c = {0};
	int err = 0;

	if (q->quantity != HL_QUANTITY_LIVE)
		i = hl_query_from(w->m, &q->from).chunk;
	hl_progress_begin(WRITING);
	for (; i < n && !err; i++) {
		err = read_chunk(w, i, &c);
		if (err == -EBADMSG) {
			w->l->moved = true;
			w->l->end_ns = i > 0 ? hl_reader_chunk(w->m->reader, i - 1)->t1_ns : 0;
			err = 0;
			break;
		}
		if (err)
			hl_model_fail(w->m, err);
		else
			err = take_chunk(w, i, &c);
		hl_progress_tick(i + 1, n);
	}
	hl_progress_end();
	hl_chunk_events_free(&c);
	return err;
}

int hl_model_lives(struct hl_model *m, struct hl_lives *l)
{
	struct work w = {.m = m, .l = l};
	int err;

	l->allocated = (struct hl_value){0};
	l->moved = false;
	l->end_ns = hl_model_end_ns(m);
	/* A caller may read the lives twice, first for what it has to write before them. */
	if (l->rest)
		hl_rest_restart(l->rest);
	err = choose(&w);
	if (!err)
		err = take_all(&w);
	/* Up to a loss it is a part of all allocations, but of a moment another answer. */
	if (!err && l->moved && l->query->quantity == HL_QUANTITY_LIVE &&
		hl_when_ns(&l->query->to, m) > l->end_ns)
		err = hl_model_lost_before(m);
	if (!err && l->block)
		err = hl_blocks_in_order(&w.alive, l->block, l->arg);
	if (!err && l->rest && (err = hl_rest_end(l->rest)) != 0)
		hl_model_fail(m, err);
	hl_blocks_fini(&w.alive);
	free(w.chosen);
	return err;
}
