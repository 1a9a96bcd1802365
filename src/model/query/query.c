/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query.c - answers queries; see query.h.
 *
 * Keyframes and summaries are used whenever they suffice. Only filters on more than the stack need
 * every event.
 */
#include "model/query/query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/query/query_plan.h"
#include "model/query/sums_by_key.h"
#include "model/model_internal.h"
#include "model/scan/prefetch.h"
#include "model/scan/block_stream.h"
#include "model/query/sums.h"
#include "model/query/suppress.h"
#include "model/tags/roles.h"

const char *hl_quantity_name(enum hl_quantity q)
{
	static const char *const names[] = {"live", "allocated", "temporary", "growth"};

	return names[q];
}

struct hl_position hl_query_to(struct hl_model *m, const struct hl_time_spec *when)
{
	const struct hl_mark *mark;

	if (when->kind == HL_TIME_SPEC_PEAK)
		return hl_position_peak(m);
	if (when->kind == HL_TIME_SPEC_KEY)
		return hl_position_key(m, when->key);
	if (when->kind == HL_TIME_SPEC_EVENT)
		return hl_position_event(when->key, when->events, when->ns);
	if (when->kind == HL_TIME_SPEC_MARK && (mark = hl_time_spec_mark(when, m)))
		return m->n_segments > 0 ? hl_position_mark_aggregated(m, mark)
					 : hl_position_mark(mark);
	return hl_position_at(
		m, when->kind == HL_TIME_SPEC_END ? UINT64_MAX : hl_time_spec_ns(when, m));
}

struct hl_position hl_query_from(struct hl_model *m, const struct hl_time_spec *when)
{
	uint64_t ns = hl_time_spec_ns(when, m);
	struct hl_position p;

	if (when->kind == HL_TIME_SPEC_PEAK || when->kind == HL_TIME_SPEC_MARK ||
		when->kind == HL_TIME_SPEC_KEY || when->kind == HL_TIME_SPEC_EVENT)
		return hl_query_to(m, when);
	if (ns == 0 || ns == hl_model_base(m)->time_ns)
		return hl_position_first(m);
	p = hl_position_at(m, ns - 1);
	if (!p.before_damage)
		p.time_ns = ns;
	return p;
}

/* The time that the query asks for. A moment after the end is the end, if the end is known. */
static uint64_t asked_time(
	struct hl_model *m, const struct hl_query *q, const struct hl_position *p)
{
	return p->before_damage ? hl_time_spec_ns(&q->to, m) : p->time_ns;
}

static void set_live_values(const struct hl_sums *sums, struct hl_answer *a)
{
	for (uint32_t i = 0; i <= a->n_keys; i++) {
		a->values[i].bytes = hl_sums_live_bytes(&sums[i]);
		a->values[i].blocks = hl_sums_live_blocks(&sums[i]);
	}
}

/* For a file without an end: do the file's totals equal those of this keyframe? */
static bool is_last_state(struct hl_model *m, size_t key)
{
	struct hl_totals t;

	return m->n_segments > 0 && hl_reader_keyframe_totals(m->reader, key, &t) == 0 &&
	       t.events == m->info->totals.events;
}

/* The keyframe that has the blocks that were live at the peak: the last one of a completed file, or
 * that of the base, if the peak is before it. SIZE_MAX: none. */
static size_t find_peak_keyframe(struct hl_model *m)
{
	bool before_base = hl_model_peak_is_before_base(m);
	size_t n = before_base ? hl_reader_base_keyframe(m->reader) + 1
			       : hl_reader_n_keyframes(m->reader);
	const struct hl_keyframe_info *k = n > 0 ? hl_reader_keyframe(m->reader, n - 1) : NULL;

	if (!k || k->lost || m->bad_keyframes[n - 1] ||
		(!before_base && !m->info->has_end && !is_last_state(m, n - 1)) ||
		(!before_base && m->info->has_end && k->chunk != hl_reader_n_chunks(m->reader)))
		return SIZE_MAX;
	return n - 1;
}

bool hl_query_peak_in_keyframe(struct hl_model *m)
{
	return find_peak_keyframe(m) != SIZE_MAX;
}

/* Returns -ENODATA if no keyframe has the peak, or if it contradicts the totals. */
static int peak_from_keyframe(struct hl_model *m, struct hl_answer *a)
{
	size_t key = find_peak_keyframe(m);
	struct hl_node_totals *nodes;
	const struct hl_totals *all = &m->info->totals;
	struct hl_value sum = {0};
	int err;

	if (key == SIZE_MAX)
		return -ENODATA;
	nodes = malloc(((size_t)m->n_nodes + 1) * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	err = hl_work_tick(&m->work, 0, 0);
	if (!err)
		err = hl_reader_load_keyframe(m->reader, key, nodes, m->n_nodes);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_keyframes[key]);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		a->values[i].bytes = nodes[i].peak_bytes;
		a->values[i].blocks = nodes[i].peak_blocks;
		sum.bytes += nodes[i].peak_bytes;
		sum.blocks += nodes[i].peak_blocks;
	}
	free(nodes);
	if (err == -ENOMEM || m->work.stopped)
		return err;
	if (err || sum.bytes > all->peak_bytes || sum.blocks > all->peak_blocks)
		return -ENODATA;
	/* The rest has no stack. */
	a->values[a->n_keys].bytes = all->peak_bytes - sum.bytes;
	a->values[a->n_keys].blocks = all->peak_blocks - sum.blocks;
	a->to_ns = m->info->totals.peak_time_ns;
	return 0;
}

struct query_run {
	struct hl_prefetch prefetch; /* must be the first member */
	struct hl_query q;
	struct hl_answer a;
	struct hl_query_plan plan;
	struct hl_key_sums to, from;   /* for HL_METHOD_KEY_SUMS */
	struct hl_block_stream stream; /* for HL_METHOD_EVENTS */
};

/* Loads the sums by the cheapest method for the key. *p: set to the position that they are for. */
static int load_sums(struct query_run *w, const struct hl_key_sums *k, struct hl_position *p,
	struct hl_sums *sums)
{
	if (w->plan.method == HL_METHOD_STACK_SUMS)
		return hl_sums_at(w->prefetch.m, p, sums);
	*p = k->position;
	return hl_key_sums_load(k, sums);
}

static int compute_live(struct query_run *w)
{
	struct hl_model *m = w->prefetch.m;
	const struct hl_query *q = &w->q;
	struct hl_answer *a = &w->a;
	struct hl_position p;
	struct hl_sums *sums;
	int err;

	if (q->to.kind == HL_TIME_SPEC_PEAK && w->plan.method == HL_METHOD_STACK_SUMS) {
		err = peak_from_keyframe(m, a);
		if (err == -ENODATA && hl_model_peak_is_before_base(m))
			return hl_model_lost_base(m);
		if (err != -ENODATA)
			return err;
	}
	sums = malloc(((size_t)a->n_keys + 1) * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	p = hl_query_to(m, &q->to);
	a->asked_ns = asked_time(m, q, &p);
	err = load_sums(w, &w->to, &p, sums);
	a->to_ns = p.time_ns;
	a->before_damage = p.before_damage;
	if (!err)
		set_live_values(sums, a);
	free(sums);
	return err;
}

static int compute_allocated(struct query_run *w)
{
	struct hl_model *m = w->prefetch.m;
	const struct hl_query *q = &w->q;
	struct hl_answer *a = &w->a;
	size_t n = (size_t)a->n_keys + 1;
	struct hl_sums *at_from = calloc(n, sizeof(*at_from)), *at_to = malloc(n * sizeof(*at_to));
	struct hl_position from, to = hl_query_to(m, &q->to);
	int err = at_from && at_to ? 0 : -ENOMEM;

	a->asked_ns = asked_time(m, q, &to);
	if (!err)
		err = load_sums(w, &w->to, &to, at_to);
	a->to_ns = to.time_ns;
	a->before_damage = to.before_damage;
	from = hl_query_from(m, &q->from);
	if (!err)
		err = load_sums(w, &w->from, &from, at_from);
	a->from_ns = from.time_ns;
	a->before_damage |= from.before_damage;
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		if (at_to[i].alloc_blocks < at_from[i].alloc_blocks)
			continue; /* the range is empty or reversed */
		a->values[i].bytes = at_to[i].alloc_bytes - at_from[i].alloc_bytes;
		a->values[i].blocks = at_to[i].alloc_blocks - at_from[i].alloc_blocks;
	}
	free(at_from);
	free(at_to);
	return err;
}

uint64_t hl_value_margin(const struct hl_value *v)
{
	return v->variance > 0 ? (uint64_t)(1.96 * sqrt(v->variance) + 0.5) : 0;
}

static bool is_in_quantity(const struct hl_query *q, const struct hl_block *b)
{
	bool in = b->alloc_phase == HL_RANGE_IN;

	switch (q->quantity) {
	case HL_QUANTITY_LIVE:
		return b->free_phase >= HL_RANGE_AFTER;
	case HL_QUANTITY_ALLOCATED:
		return in;
	case HL_QUANTITY_TEMPORARY:
		if (!in || b->free_phase != HL_RANGE_IN)
			return false;
		return q->temporary_ns ? b->free_ns - b->alloc_ns < q->temporary_ns
				       : b->is_temporary;
	case HL_QUANTITY_GROWTH:
		return in && b->free_phase >= HL_RANGE_AFTER;
	}
	return false;
}

int hl_query_counts(const struct hl_query *q, struct hl_model *m, const struct hl_block *b,
	const struct hl_value *value)
{
	bool taken = false;
	int err = 0;

	if (!is_in_quantity(q, b))
		return 0;
	if (q->suppressions)
		err = hl_suppressions_take(q->suppressions, m, b->node, b->func, value, &taken);
	return err ? err : !taken;
}

struct hl_value hl_block_value(const struct hl_model *m, const struct hl_block *b)
{
	return (struct hl_value){.bytes = b->bytes,
		.blocks = b->blocks,
		.variance = hl_model_has_estimates(m)
				    ? (double)b->bytes * (double)(b->bytes - b->size)
				    : 0};
}

static void reset_counts(void *arg)
{
	struct query_run *w = arg;

	if (w->q.suppressions)
		hl_suppressions_reset(w->q.suppressions);
	memset(w->a.values, 0, ((size_t)w->a.n_keys + 1) * sizeof(*w->a.values));
}

static int count_block(void *arg, const struct hl_block *b)
{
	struct query_run *w = arg;
	struct hl_value one = hl_block_value(w->prefetch.m, b);
	int counts = hl_query_counts(&w->q, w->prefetch.m, b, &one);
	uint32_t key;

	if (counts <= 0)
		return counts;
	key = hl_key_of(w->prefetch.m, w->q.key, b);
	if (key > w->a.n_keys)
		key = w->a.n_keys;
	hl_value_add(&w->a.values[key], &one);
	return 0;
}

/* Leaves out blocks that is_in_quantity excludes. */
static enum hl_block_choice choose_blocks(const struct hl_query *q)
{
	if (q->quantity == HL_QUANTITY_LIVE || q->quantity == HL_QUANTITY_GROWTH)
		return HL_BLOCKS_LIVE;
	return q->quantity == HL_QUANTITY_TEMPORARY && !q->temporary_ns ? HL_BLOCKS_TEMPORARY
									: HL_BLOCKS_ALL;
}

void hl_query_init_stream(struct hl_block_stream *s, struct hl_model *m, const struct hl_query *q)
{
	bool live = q->quantity == HL_QUANTITY_LIVE;

	*s = (struct hl_block_stream){.filter = q->filter,
		.pool = q->pool,
		.to = hl_query_to(m, &q->to),
		.include_older = live,
		.read_all_frees = q->key == HL_KEY_LIFETIME,
		.at_alloc = q->quantity == HL_QUANTITY_ALLOCATED && q->key != HL_KEY_LIFETIME,
		.func = q->key == HL_KEY_CALL ||
			(q->suppressions && hl_suppressions_need_calls(q->suppressions))};
	s->from = live ? s->to : hl_query_from(m, &q->from);
}

static void start_stream(struct query_run *w)
{
	const struct hl_query *q = &w->q;
	struct hl_model *m = w->prefetch.m;

	hl_query_init_stream(&w->stream, m, q);
	w->stream.choice = choose_blocks(q);
	w->stream.unused = HL_WANT_ADDR | (q->suppressions ? 0 : HL_WANT_FUNC);
	w->stream.begin = reset_counts;
	w->stream.block = count_block;
	w->stream.arg = w;
	w->a.asked_ns = asked_time(m, q, &w->stream.to);
	hl_block_stream_init(&w->stream, m);
	w->stream.consumer.memory += ((uint64_t)w->a.n_keys + 1) * sizeof(*w->a.values);
	w->prefetch.consumers[0] = &w->stream.consumer;
}

/* Sets the times of the answer. Positions may have moved before a loss. */
static void set_range(
	const struct hl_query *q, const struct hl_block_stream *s, struct hl_answer *a)
{
	bool live = q->quantity == HL_QUANTITY_LIVE;

	a->to_ns = s->to.time_ns;
	a->from_ns = live ? a->to_ns : s->from.time_ns;
	a->before_damage = s->to.before_damage || (!live && s->from.before_damage);
}

/* If blocks are aggregated, only the last state is known by block. Returns 0 or -ENODATA. */
static int check_moved(struct hl_model *m, const struct hl_answer *a)
{
	return a->before_damage ? hl_model_require(m, HL_NEEDS_EVENTS, "this") : 0;
}

static int start_keyed(struct query_run *w)
{
	struct hl_model *m = w->prefetch.m;
	struct hl_position to = hl_query_to(m, &w->q.to), from;
	int err = hl_key_sums_init(&w->to, m, w->q.key, w->a.n_keys, &to);

	w->prefetch.consumers[0] = &w->to.consumer;
	if (err || w->q.quantity == HL_QUANTITY_LIVE)
		return err;
	from = hl_query_from(m, &w->q.from);
	w->prefetch.consumers[1] = &w->from.consumer;
	return hl_key_sums_init(&w->from, m, w->q.key, w->a.n_keys, &from);
}

/* --- single blocks, for views --- */

struct block_run {
	struct hl_model *m;
	const struct hl_query *q;
	const struct hl_block_sink *sink;
	struct hl_block_stream stream;
	struct hl_answer *a;
};

/* The total counts blocks, so it begins again with them. */
static void begin_blocks(void *arg)
{
	struct block_run *w = arg;

	if (w->q->suppressions)
		hl_suppressions_reset(w->q->suppressions);
	w->a->total = (struct hl_value){0};
	set_range(w->q, &w->stream, w->a);
	w->sink->begin(w->sink->arg);
}

static int deliver_block(void *arg, const struct hl_block *b)
{
	struct block_run *w = arg;
	struct hl_value one = hl_block_value(w->m, b);
	int counts = hl_query_counts(w->q, w->m, b, &one);

	if (counts <= 0)
		return counts;
	hl_value_add(&w->a->total, &one);
	return w->sink->block(w->sink->arg, b, &one);
}

int hl_query_blocks(struct hl_model *m, const struct hl_query *q, const struct hl_block_sink *sink,
	struct hl_answer *a)
{
	struct block_run w = {.m = m, .q = q, .sink = sink, .a = a};
	struct hl_query_plan plan;
	int err = hl_query_bind(q, m);

	*a = (struct hl_answer){.quantity = q->quantity, .pool = q->pool != NULL};
	if (!err)
		err = hl_query_plan(m, q, &plan);
	if (!err)
		err = hl_query_plan_blocks(m, q);
	if (err)
		return err;
	hl_query_init_stream(&w.stream, m, q);
	w.stream.choice = sink->with_frees ? HL_BLOCKS_ALL : choose_blocks(q);
	w.stream.read_all_frees |= sink->with_frees;
	w.stream.at_alloc &= !sink->with_frees;
	w.stream.begin = begin_blocks;
	w.stream.block = deliver_block;
	w.stream.arg = &w;
	a->asked_ns = asked_time(m, q, &w.stream.to);
	err = hl_block_stream_run(m, &w.stream);
	return err ? err : check_moved(m, a);
}

/* Clears the values of stacks that a filter on stacks, or suppressions, exclude. */
static int apply_stack_filters(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	int err = 0;

	hl_work_begin(&m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		uint32_t node = i < a->n_keys ? i : HL_NODE_NONE;
		bool holds = true, taken = false;

		err = hl_naming_tick(m, i, a->n_keys);
		if (err || a->values[i].blocks == 0)
			continue;
		if (q->filter)
			err = hl_filter_node(q->filter, m, node, &holds);
		if (!err && holds && q->suppressions)
			err = hl_suppressions_take(
				q->suppressions, m, node, HL_FUNC_COUNT, &a->values[i], &taken);
		if (!holds || taken)
			a->values[i] = (struct hl_value){0};
	}
	hl_work_end(&m->work, HL_WORK_SHORT);
	return err;
}

static int fail_no_such_pool(struct hl_model *m)
{
	size_t len = (size_t)snprintf(
		m->error, sizeof(m->error), "there is no pool of this name in the recording");
	uint32_t n = hl_model_n_pools(m);

	for (uint32_t i = 0; i < n && len + 1 < sizeof(m->error); i++)
		len += (size_t)snprintf(m->error + len, sizeof(m->error) - len, "%s%s",
			i ? ", " : "; it has ", hl_model_pool_name(m, i));
	return -ENOENT;
}

/* At least one pool must match the name. */
static int check_pool(const struct hl_query *q, struct hl_model *m)
{
	if (!q->pool)
		return 0;
	for (uint32_t i = 0; i < hl_model_n_pools(m); i++) {
		if (hl_pattern_matches(q->pool, hl_model_pool_name(m, i)))
			return 0;
	}
	return fail_no_such_pool(m);
}

/* The peak may be before the base of a trace that begins late if it is by stack: the base has these
 * sums. */
static int check_moment(const struct hl_query *q, struct hl_model *m)
{
	bool by_stack = q->quantity == HL_QUANTITY_LIVE && q->key == HL_KEY_STACK &&
			hl_query_sums_suffice(m, q);

	if (by_stack && q->to.kind == HL_TIME_SPEC_PEAK)
		return hl_model_check_base(m);
	return hl_time_spec_check_blocks(&q->to, m);
}

int hl_query_bind(const struct hl_query *q, struct hl_model *m)
{
	int err = hl_time_spec_check(&q->from, m);

	if (!err)
		err = check_moment(q, m);
	if (!err && q->filter)
		err = hl_filter_bind(q->filter, m);
	if (!err && q->suppressions)
		err = hl_suppressions_bind(q->suppressions, m);
	return err ? err : check_pool(q, m);
}

static int start_query(struct hl_prefetch *prefetch)
{
	struct query_run *w = (struct query_run *)prefetch;
	struct hl_model *m = prefetch->m;
	struct hl_answer *a = &w->a;
	int err;

	*a = (struct hl_answer){
		.quantity = w->q.quantity, .key = w->q.key, .pool = w->q.pool != NULL};
	err = hl_key_count(m, w->q.key, &a->n_keys);
	if (err)
		return err;
	a->values = calloc((size_t)a->n_keys + 1, sizeof(*a->values));
	err = a->values ? hl_query_bind(&w->q, m) : -ENOMEM;
	if (err)
		return err;
	err = hl_query_plan(m, &w->q, &w->plan);
	if (err)
		return err;
	a->asked_ns = hl_time_spec_ns(&w->q.to, m);
	if (w->plan.method == HL_METHOD_EVENTS)
		start_stream(w);
	return w->plan.method == HL_METHOD_KEY_SUMS ? start_keyed(w) : 0;
}

static int finish_query(struct query_run *w)
{
	const struct hl_query *q = &w->q;
	struct hl_answer *a = &w->a;
	int err = 0;

	if (w->plan.method == HL_METHOD_EVENTS) {
		set_range(q, &w->stream, a);
		err = check_moved(w->prefetch.m, a);
	} else {
		err = q->quantity == HL_QUANTITY_LIVE ? compute_live(w) : compute_allocated(w);
	}
	if (!err && w->plan.method == HL_METHOD_STACK_SUMS && (q->filter || q->suppressions))
		err = apply_stack_filters(w->prefetch.m, q, a);
	if (q->quantity == HL_QUANTITY_LIVE)
		a->from_ns = a->to_ns;
	for (uint32_t i = 0; i <= a->n_keys; i++) {
		hl_value_add(&a->total, &a->values[i]);
	}
	return err;
}

static bool equals_query(const struct hl_prefetch *qa, const struct hl_prefetch *qb)
{
	const struct hl_query *a = &((const struct query_run *)qa)->q,
			      *b = &((const struct query_run *)qb)->q;

	return a->quantity == b->quantity && a->key == b->key &&
	       hl_time_spec_equal(&a->from, &b->from) && hl_time_spec_equal(&a->to, &b->to) &&
	       a->filter == b->filter && a->suppressions == b->suppressions &&
	       a->temporary_ns == b->temporary_ns && a->pool == b->pool && a->decode == b->decode;
}

static void free_query(struct hl_prefetch *prefetch)
{
	struct query_run *w = (struct query_run *)prefetch;

	hl_answer_fini(&w->a);
	hl_key_sums_fini(&w->to);
	hl_key_sums_fini(&w->from);
	hl_block_stream_fini(&w->stream);
	free(w);
}

static struct hl_prefetch *new_query_run(struct hl_model *m, const struct hl_query *q)
{
	static const struct hl_prefetch_kind kind = {start_query, equals_query, free_query};
	struct query_run *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->prefetch = (struct hl_prefetch){.kind = &kind, .m = m};
	w->q = *q;
	return &w->prefetch;
}

int hl_model_query(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	struct hl_prefetch *prefetch = new_query_run(m, q);
	struct query_run *w;
	int err;

	*a = (struct hl_answer){0};
	if (!prefetch)
		return hl_model_fail(m, -ENOMEM);
	err = hl_prefetch_run(&prefetch);
	w = (struct query_run *)prefetch;
	if (!err) {
		m->error[0] = 0;
		err = finish_query(w);
		if (err && !m->error[0])
			hl_model_fail(m, err);
	}
	if (!err) {
		*a = w->a;
		a->has_unknown_accuracy =
			!a->pool && a->total.blocks && hl_model_has_estimates(m) &&
			(hl_model_has_aggregated(m) || hl_query_is_peak_before_base(m, q)) &&
			!(a->total.variance > 0);
		w->a = (struct hl_answer){0};
	}
	free_query(prefetch);
	return err;
}

void hl_query_prefetch(struct hl_model *m, const struct hl_query *q)
{
	struct hl_prefetch *prefetch;

	/* Suppressions count what they match, which works for one query at a time only. */
	if (q->suppressions && !hl_suppressions_is_copy(q->suppressions))
		return;
	prefetch = new_query_run(m, q);
	if (prefetch)
		hl_prefetch_add(prefetch);
}

void hl_answer_fini(struct hl_answer *a)
{
	free(a->values);
	memset(a, 0, sizeof(*a));
}
