/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums_by_keys.c - see sums_by_keys.h.
 *
 * Keyframes have stacks but neither threads nor tags, so every chunk is needed, as its summary if
 * it has one.
 */
#include "model/query/query_plan.h"
#include "model/query/sums_by_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/query/sums_by_key.h"
#include "model/model_internal.h"
#include "model/scan/shared_scan.h"
#include "model/scan/block_stream.h"
#include "model/query/suppress.h"

struct cell {
	uint32_t node, key;
	struct hl_role who;
	hl_tally tally;
};

struct cross_query {
	struct hl_model *m;
	const struct hl_query *q;
	uint32_t n_keys;
	HL_VEC(struct cell) cells;
	struct hl_pair_map by_cell;
	struct hl_position from, to;
	struct hl_summary summary;
	struct hl_scan_consumer reading; /* for sums */
	struct hl_block_stream stream;   /* for events */
	bool by_events;
};

static void reset_cells(void *arg)
{
	struct cross_query *c = arg;

	c->cells.len = 0;
	hl_pair_map_fini(&c->by_cell);
	memset(&c->by_cell, 0, sizeof(c->by_cell));
	if (c->q->suppressions)
		hl_suppressions_reset(c->q->suppressions);
}

/* Does the key follow from the role? */
static bool is_role_key(enum hl_key key)
{
	return key == HL_KEY_STACK || key == HL_KEY_THREAD || key == HL_KEY_TAG;
}

static uint32_t role_key(const struct cross_query *c, struct hl_role who)
{
	uint32_t key = c->q->key == HL_KEY_THREAD ? who.thread : who.tag;

	return c->q->key == HL_KEY_STACK ? 0 : hl_min_u32(key, c->n_keys);
}

/* Finds or adds the cell. Returns NULL if there is no memory. */
static struct hl_value *tally_of(
	struct cross_query *c, uint32_t node, struct hl_role who, uint32_t key)
{
	uint64_t role = (uint64_t)who.thread << 32 | who.tag, what = (uint64_t)key << 32 | node;
	uint32_t at = hl_pair_map_get(&c->by_cell, what, role);

	if (at == HL_PAIR_MAP_NONE) {
		at = (uint32_t)c->cells.len;
		if (hl_vec_push(&c->cells, ((struct cell){.node = node, .key = key, .who = who})) ||
			hl_pair_map_put(&c->by_cell, what, role, at))
			return NULL;
	}
	return c->cells.data[at].tally;
}

/* --- from sums --- */

static int begin_scan(void *arg)
{
	reset_cells(arg);
	return 0;
}

static int plan_chunks(struct hl_scan_consumer *r)
{
	struct cross_query *c = r->arg;

	hl_scan_consumer_up_to(r, c->m, &c->to);
	while (!c->from.is_exact)
		c->from = hl_position_before_loss(c->m, &c->from);
	r->first = c->from.chunk < r->last_end ? c->from.chunk : r->last_end;
	return 0;
}

static bool is_whole(const struct cross_query *c, size_t chunk)
{
	return (chunk > c->from.chunk || (chunk == c->from.chunk && c->from.cut == HL_CUT_START)) &&
	       chunk < c->to.chunk;
}

static int add_summary(struct cross_query *c)
{
	for (size_t i = 0; i < c->summary.n; i++) {
		const struct hl_summary_row *r = &c->summary.rows[i];
		struct hl_role who = hl_role_at(c->m, r->thread);
		struct hl_value *t = tally_of(c, r->node, who, role_key(c, who));

		if (!t)
			return -ENOMEM;
		t[HL_OP_ALLOC].blocks += r->sums.alloc_blocks;
		t[HL_OP_ALLOC].bytes += r->sums.alloc_bytes;
		t[HL_OP_FREE].blocks += r->sums.free_blocks;
		t[HL_OP_FREE].bytes += r->sums.free_bytes;
	}
	return 0;
}

static int want_fields(void *arg, size_t chunk, unsigned *want)
{
	struct cross_query *c = arg;
	bool whole = is_whole(c, chunk);
	int err = whole ? hl_reader_summary(c->m->reader, chunk, &c->summary) : -ENOENT;

	*want = whole ? HL_WANT_NODE : HL_WANT_ALL;
	/* A damaged summary is treated as a missing one. */
	if (err == -ENOENT || err == -EBADMSG)
		return 0;
	*want = HL_WANT_NO_EVENTS;
	return err ? err : add_summary(c);
}

static int add_chunk(void *arg, size_t chunk, const struct hl_chunk_events *events)
{
	struct cross_query *c = arg;
	size_t i = chunk == c->from.chunk ? hl_position_split(c->m, &c->from, events) : 0;
	size_t n = chunk < c->to.chunk ? events->n_events : hl_position_split(c->m, &c->to, events);

	for (; i < n; i++) {
		const struct hl_event *e = &events->events[i];
		struct hl_role who = hl_role_at(c->m, hl_event_alloc_role(e));
		struct hl_value *t;

		if (e->node != HL_NODE_NONE && e->node >= c->m->n_nodes)
			return -EBADMSG;
		t = tally_of(c, e->node, who, role_key(c, who));
		if (!t)
			return -ENOMEM;
		hl_tally_add(&t[e->op], e->bytes, e->blocks);
	}
	return 0;
}

/* --- from events --- */

static int add_block(void *arg, const struct hl_block *b)
{
	struct cross_query *c = arg;
	struct hl_value one = hl_block_value(c->m, b), *t;
	int counts = hl_query_counts(c->q, c->m, b, &one);
	uint32_t key;

	if (counts <= 0)
		return counts;
	key = c->q->key == HL_KEY_STACK ? 0 : hl_min_u32(hl_key_of(c->m, c->q->key, b), c->n_keys);
	t = tally_of(c, b->node, (struct hl_role){b->thread, b->tag}, key);
	if (t)
		hl_value_add(&t[HL_OP_ALLOC], &one);
	return t ? 0 : -ENOMEM;
}

/* --- both --- */

static int start_query(struct cross_query *c, struct hl_model *m, const struct hl_query *q)
{
	struct hl_query_plan plan;
	struct hl_query whole = *q; /* filters on stacks are applied to sums of whole stacks */
	int err;

	*c = (struct cross_query){.m = m, .q = q};
	err = hl_key_count(m, q->key, &c->n_keys);
	if (!err)
		err = hl_query_bind(q, m);
	if (!err && q->key != HL_KEY_STACK)
		err = hl_query_plan(m, q, &plan);
	if (err)
		return err;
	whole.key = HL_KEY_STACK;
	c->by_events = !is_role_key(q->key) || !hl_query_sums_suffice(m, &whole);
	c->to = hl_query_to(m, &q->to);
	c->from.is_exact = true;
	if (q->quantity != HL_QUANTITY_LIVE)
		c->from = hl_query_from(m, &q->from);
	c->reading = (struct hl_scan_consumer){.plan = plan_chunks,
		.begin = begin_scan,
		.want = want_fields,
		.chunk = add_chunk,
		.arg = c};
	if (!c->by_events)
		return 0;
	hl_query_init_stream(&c->stream, m, q);
	c->stream.begin = reset_cells;
	c->stream.block = add_block;
	c->stream.arg = c;
	hl_block_stream_init(&c->stream, m);
	return 0;
}

static struct hl_scan_consumer *consumer_of(struct cross_query *c)
{
	return c->by_events ? &c->stream.consumer : &c->reading;
}

/* The value of a cell before filters on stacks are applied. */
static int value_of(const struct cross_query *c, const struct cell *p, struct hl_value *v)
{
	*v = p->tally[HL_OP_ALLOC];
	if (c->q->quantity != HL_QUANTITY_LIVE || c->by_events)
		return 0;
	if (p->tally[HL_OP_FREE].blocks > v->blocks || p->tally[HL_OP_FREE].bytes > v->bytes)
		return -EBADMSG;
	v->blocks -= p->tally[HL_OP_FREE].blocks;
	v->bytes -= p->tally[HL_OP_FREE].bytes;
	return 0;
}

/* Applies filters and suppressions that depend on the stack only. */
static int is_left_out(
	const struct cross_query *c, const struct cell *p, const struct hl_value *v, bool *out)
{
	bool holds = true, taken = false;
	int err = 0;

	*out = v->blocks == 0;
	if (*out || c->by_events)
		return 0;
	if (c->q->filter)
		err = hl_filter_node(c->q->filter, c->m, p->node, &holds);
	if (!err && holds && c->q->suppressions)
		err = hl_suppressions_take(
			c->q->suppressions, c->m, p->node, HL_FUNC_COUNT, v, &taken);
	*out = !holds || taken;
	return err;
}

static int finish_query(struct cross_query *c, struct hl_cross_sums *a)
{
	const struct hl_position *to = c->by_events ? &c->stream.to : &c->to;
	const struct hl_position *from = c->by_events ? &c->stream.from : &c->from;
	int err = 0;

	a->rows = malloc((c->cells.len + 1) * sizeof(*a->rows));
	if (!a->rows)
		return -ENOMEM;
	a->to_ns = to->time_ns;
	a->moved = to->before_damage || from->before_damage;
	for (size_t i = 0; i < c->cells.len && !err; i++) {
		const struct cell *p = &c->cells.data[i];
		struct hl_value v;
		bool out = true;

		err = value_of(c, p, &v);
		if (!err)
			err = is_left_out(c, p, &v, &out);
		if (err || out)
			continue;
		a->rows[a->n++] = (struct hl_cross_sums_row){p->node, p->who, p->key, v};
		hl_value_add(&a->total, &v);
	}
	return err ? hl_model_fail(c->m, err) : 0;
}

static void free_query(struct cross_query *c)
{
	hl_vec_free(&c->cells);
	hl_pair_map_fini(&c->by_cell);
	hl_summary_free(&c->summary);
	hl_block_stream_fini(&c->stream);
}

static const struct hl_role no_role = {HL_NODE_NONE, HL_TAG_NONE};

static int make_rows(struct hl_cross_sums *c, struct hl_model *m, const struct hl_answer *a,
	struct hl_role who, uint32_t key)
{
	*c = (struct hl_cross_sums){
		.total = a->total, .to_ns = a->to_ns, .moved = a->before_damage};
	c->rows = malloc(((size_t)a->n_keys + 1) * sizeof(*c->rows));
	if (!c->rows)
		return hl_model_fail(m, -ENOMEM);
	for (uint32_t i = 0; i <= a->n_keys; i++) {
		if (a->values[i].blocks)
			c->rows[c->n++] = (struct hl_cross_sums_row){
				i < a->n_keys ? i : HL_NODE_NONE, who, key, a->values[i]};
	}
	return 0;
}

int hl_cross_sums_of(struct hl_cross_sums *c, struct hl_model *m, const struct hl_answer *a)
{
	return make_rows(c, m, a, no_role, 0);
}

int hl_cross_sums_by_stack(const struct hl_cross_sums *c, struct hl_model *m,
	const struct hl_query *q, struct hl_answer *a)
{
	*a = (struct hl_answer){.quantity = q->quantity,
		.key = HL_KEY_STACK,
		.to_ns = c->to_ns,
		.total = c->total,
		.n_keys = m->n_nodes,
		.pool = q->pool != NULL,
		.before_damage = c->moved};
	a->values = calloc((size_t)a->n_keys + 1, sizeof(*a->values));
	if (!a->values)
		return hl_model_fail(m, -ENOMEM);
	for (size_t i = 0; i < c->n; i++)
		hl_value_add(&a->values[hl_min_u32(c->rows[i].node, a->n_keys)], &c->rows[i].value);
	return 0;
}

/* For programs with one thread and no tags, and for traces in which threads and tags are not
 * known. */
static int query_by_stack(struct hl_model *m, const struct hl_query *query, struct hl_role who,
	struct hl_cross_sums *c)
{
	struct hl_query q = *query;
	struct hl_answer a;
	int err;

	hl_cross_sums_fini(c);
	q.key = HL_KEY_STACK;
	err = hl_model_query(m, &q, &a);
	if (!err)
		err = make_rows(c, m, &a, who, query->key == HL_KEY_TAG ? m->n_tags : 0);
	hl_answer_fini(&a);
	return err;
}

int hl_model_cross_sums(
	struct hl_model *m, const struct hl_query *queries, struct hl_cross_sums *answers, size_t n)
{
	struct cross_query c[2] = {0};
	struct hl_query_plan plan;
	uint32_t n_threads = 0;
	int err = hl_reader_n_threads(m->reader, &n_threads);
	bool one = !err && n_threads == 1 && m->n_tags == 0 && is_role_key(queries[0].key);
	struct hl_role who = one ? (struct hl_role){0, HL_TAG_NONE} : no_role;

	one |= (hl_model_has_aggregated(m) || hl_model_peak_is_before_base(m)) &&
	       queries[0].key == HL_KEY_STACK;
	memset(answers, 0, n * sizeof(*answers));
	for (size_t i = 0; i < n && one && !err; i++) {
		err = queries[i].key == HL_KEY_STACK ? 0 : hl_query_plan(m, &queries[i], &plan);
		if (!err)
			err = query_by_stack(m, &queries[i], who, &answers[i]);
	}
	if (one || err)
		return err;
	for (size_t i = 0; i < n && !err; i++)
		err = start_query(&c[i], m, &queries[i]);
	if (!err)
		err = hl_scan(m, consumer_of(&c[0]), n > 1 ? consumer_of(&c[1]) : NULL);
	for (size_t i = 0; i < n && !err; i++) {
		err = finish_query(&c[i], &answers[i]);
		if (!err && answers[i].moved && queries[i].key == HL_KEY_STACK)
			err = query_by_stack(m, &queries[i], no_role, &answers[i]);
	}
	for (size_t i = 0; i < n; i++)
		free_query(&c[i]);
	return err;
}

void hl_cross_sums_fini(struct hl_cross_sums *c)
{
	free(c->rows);
	memset(c, 0, sizeof(*c));
}
