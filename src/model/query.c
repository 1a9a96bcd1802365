/*
 * query.c - answers; see query.h.
 *
 * Whatever can be had from keyframes and summaries is; only filters on more than the stack need
 * every event.
 */
#include "model/query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/keyed.h"
#include "model/model_internal.h"
#include "model/question.h"
#include "model/stream.h"
#include "model/sums.h"
#include "model/suppress.h"
#include "model/tags.h"

const char *hl_quantity_name(enum hl_quantity q)
{
	static const char *const names[] = {"live", "allocated", "temporary", "growth"};

	return names[q];
}

struct hl_place hl_query_to(struct hl_model *m, const struct hl_when *when)
{
	const struct hl_mark *mark;

	if (when->kind == HL_WHEN_PEAK)
		return hl_place_peak(m);
	if (when->kind == HL_WHEN_KEY)
		return hl_place_key(m, when->key);
	if (when->kind == HL_WHEN_EVENT)
		return hl_place_event(when->key, when->events, when->ns);
	if (when->kind == HL_WHEN_MARK && (mark = hl_when_mark(when, m)))
		return m->n_stretches > 0 ? hl_place_mark_apart(m, mark) : hl_place_mark(mark);
	return hl_place_at(m, when->kind == HL_WHEN_END ? UINT64_MAX : hl_when_ns(when, m));
}

struct hl_place hl_query_from(struct hl_model *m, const struct hl_when *when)
{
	uint64_t ns = hl_when_ns(when, m);
	struct hl_place p;

	if (when->kind == HL_WHEN_PEAK || when->kind == HL_WHEN_MARK || when->kind == HL_WHEN_KEY ||
		when->kind == HL_WHEN_EVENT)
		return hl_query_to(m, when);
	if (ns == 0)
		return hl_place_start();
	p = hl_place_at(m, ns - 1);
	if (!p.moved)
		p.time_ns = ns;
	return p;
}

/* A moment after the end is the end, if the end is known. */
static uint64_t asked(struct hl_model *m, const struct hl_query *q, const struct hl_place *p)
{
	return p->moved ? hl_when_ns(&q->to, m) : p->time_ns;
}

static void live_values(const struct hl_sums *sums, struct hl_answer *a)
{
	for (uint32_t i = 0; i <= a->n_keys; i++) {
		a->values[i].bytes = hl_sums_live_bytes(&sums[i]);
		a->values[i].blocks = hl_sums_live_blocks(&sums[i]);
	}
}

/* Without an end: are the totals those of this keyframe? */
static bool ends_with(struct hl_model *m, size_t key)
{
	struct hl_totals t;

	return m->n_stretches > 0 && hl_reader_keyframe_totals(m->reader, key, &t) == 0 &&
	       t.events == m->info->totals.events;
}

/*
 * The last keyframe of a file that was ended knows what was live at the peak. -ENODATA when there
 * is none, or when it does not agree with the totals.
 */
static int peak_from_keyframe(struct hl_model *m, struct hl_answer *a)
{
	size_t n = hl_reader_n_keyframes(m->reader);
	const struct hl_keyframe_info *k = n > 0 ? hl_reader_keyframe(m->reader, n - 1) : NULL;
	struct hl_node_totals *nodes;
	const struct hl_totals *all = &m->info->totals;
	struct hl_value sum = {0};
	int err;

	if (!k || k->lost || m->bad_keyframes[n - 1] ||
		(!m->info->has_end && !ends_with(m, n - 1)) ||
		(m->info->has_end && k->chunk != hl_reader_n_chunks(m->reader)))
		return -ENODATA;
	nodes = malloc(((size_t)m->n_nodes + 1) * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	err = hl_reader_load_keyframe(m->reader, n - 1, nodes, m->n_nodes);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_keyframes[n - 1]);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		a->values[i].bytes = nodes[i].peak_bytes;
		a->values[i].blocks = nodes[i].peak_blocks;
		sum.bytes += nodes[i].peak_bytes;
		sum.blocks += nodes[i].peak_blocks;
	}
	free(nodes);
	if (err == -ENOMEM)
		return err;
	if (err || sum.bytes > all->peak_bytes || sum.blocks > all->peak_blocks)
		return -ENODATA;
	/* The rest has no stack. */
	a->values[a->n_keys].bytes = all->peak_bytes - sum.bytes;
	a->values[a->n_keys].blocks = all->peak_blocks - sum.blocks;
	a->to_ns = m->info->totals.peak_time_ns;
	return 0;
}

/* How an answer is found. */
enum way { BY_STACK, BY_KEY, BY_EVENTS };

struct asking {
	struct hl_question question; /* first */
	struct hl_query q;
	struct hl_answer a;
	enum way way;
	struct hl_keyed to, from; /* by key */
	struct hl_stream stream;  /* by events */
};

/* By the shortest way there is for the key; *p: the place that they are of. */
static int sums_at(
	struct asking *w, const struct hl_keyed *k, struct hl_place *p, struct hl_sums *sums)
{
	if (w->way == BY_STACK)
		return hl_sums_at(w->question.m, p, sums);
	*p = k->place;
	return hl_keyed_sums(k, sums);
}

static int live_of_all(struct asking *w)
{
	struct hl_model *m = w->question.m;
	const struct hl_query *q = &w->q;
	struct hl_answer *a = &w->a;
	struct hl_place p;
	struct hl_sums *sums;
	int err;

	if (q->to.kind == HL_WHEN_PEAK && w->way == BY_STACK) {
		err = peak_from_keyframe(m, a);
		if (err != -ENODATA)
			return err;
	}
	sums = malloc(((size_t)a->n_keys + 1) * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	p = hl_query_to(m, &q->to);
	a->asked_ns = asked(m, q, &p);
	err = sums_at(w, &w->to, &p, sums);
	a->to_ns = p.time_ns;
	a->moved = p.moved;
	if (!err)
		live_values(sums, a);
	free(sums);
	return err;
}

static int allocated_of_all(struct asking *w)
{
	struct hl_model *m = w->question.m;
	const struct hl_query *q = &w->q;
	struct hl_answer *a = &w->a;
	size_t n = (size_t)a->n_keys + 1;
	struct hl_sums *at_from = calloc(n, sizeof(*at_from)), *at_to = malloc(n * sizeof(*at_to));
	struct hl_place from, to = hl_query_to(m, &q->to);
	int err = at_from && at_to ? 0 : -ENOMEM;

	a->asked_ns = asked(m, q, &to);
	if (!err)
		err = sums_at(w, &w->to, &to, at_to);
	a->to_ns = to.time_ns;
	a->moved = to.moved;
	from = hl_query_from(m, &q->from);
	if (!err)
		err = sums_at(w, &w->from, &from, at_from);
	a->from_ns = from.time_ns;
	a->moved |= from.moved;
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		if (at_to[i].alloc_blocks < at_from[i].alloc_blocks)
			continue; /* the range is empty or turned round */
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

bool hl_query_counts(const struct hl_query *q, const struct hl_block *b)
{
	bool in = b->born == HL_PHASE_IN;

	switch (q->quantity) {
	case HL_QUANTITY_LIVE:
		return b->died >= HL_PHASE_AFTER;
	case HL_QUANTITY_ALLOCATED:
		return in;
	case HL_QUANTITY_TEMPORARY:
		if (!in || b->died != HL_PHASE_IN)
			return false;
		return q->temporary_ns ? b->death_ns - b->birth_ns < q->temporary_ns : b->next;
	case HL_QUANTITY_GROWTH:
		return in && b->died >= HL_PHASE_AFTER;
	}
	return false;
}

struct hl_value hl_block_value(const struct hl_model *m, const struct hl_block *b)
{
	return (struct hl_value){.bytes = b->bytes,
		.blocks = b->blocks,
		.variance = hl_model_estimates(m) ? (double)b->bytes * (double)(b->bytes - b->size)
						  : 0};
}

static void count_begin(void *arg)
{
	struct asking *w = arg;

	if (w->q.suppressions)
		hl_suppressions_reset(w->q.suppressions);
	memset(w->a.values, 0, ((size_t)w->a.n_keys + 1) * sizeof(*w->a.values));
}

static int count_block(void *arg, const struct hl_block *b)
{
	struct asking *w = arg;
	struct hl_value one = hl_block_value(w->question.m, b);
	bool taken = false;
	uint32_t key;
	int err = 0;

	if (!hl_query_counts(&w->q, b))
		return 0;
	if (w->q.suppressions)
		err = hl_suppressions_take(
			w->q.suppressions, w->question.m, b->node, b->func, &one, &taken);
	if (err || taken)
		return err;
	key = hl_key_of(w->question.m, w->q.key, b);
	if (key > w->a.n_keys)
		key = w->a.n_keys;
	hl_value_add(&w->a.values[key], &one);
	return 0;
}

static void start_stream(struct asking *w)
{
	const struct hl_query *q = &w->q;
	bool live = q->quantity == HL_QUANTITY_LIVE;
	struct hl_model *m = w->question.m;

	w->stream = (struct hl_stream){.filter = q->filter,
		.pool = q->pool,
		.to = hl_query_to(m, &q->to),
		.older = live,
		.to_end = q->key == HL_KEY_LIFE,
		.at_birth = q->quantity == HL_QUANTITY_ALLOCATED && q->key != HL_KEY_LIFE,
		.func = q->key == HL_KEY_CALL ||
			(q->suppressions && hl_suppressions_need_calls(q->suppressions)),
		.begin = count_begin,
		.block = count_block,
		.arg = w};
	w->stream.from = live ? w->stream.to : hl_query_from(m, &q->from);
	w->a.asked_ns = asked(m, q, &w->stream.to);
	hl_stream_init(&w->stream, m);
	w->stream.reading.memory += ((uint64_t)w->a.n_keys + 1) * sizeof(*w->a.values);
	w->question.reads[0] = &w->stream.reading;
}

static void finish_stream(struct asking *w)
{
	w->a.from_ns = w->stream.from.time_ns;
	w->a.to_ns = w->stream.to.time_ns;
	w->a.moved =
		w->stream.to.moved || (w->q.quantity != HL_QUANTITY_LIVE && w->stream.from.moved);
}

static int start_keyed(struct asking *w)
{
	struct hl_model *m = w->question.m;
	struct hl_place to = hl_query_to(m, &w->q.to), from;
	int err = hl_keyed_init(&w->to, m, w->q.key, w->a.n_keys, &to);

	w->question.reads[0] = &w->to.reading;
	if (err || w->q.quantity == HL_QUANTITY_LIVE)
		return err;
	from = hl_query_from(m, &w->q.from);
	w->question.reads[1] = &w->from.reading;
	return hl_keyed_init(&w->from, m, w->q.key, w->a.n_keys, &from);
}

/* Stacks that a filter on stacks, or suppressions, leave out. */
static int mask(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	int err = 0;

	hl_progress_begin(HL_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		uint32_t node = i < a->n_keys ? i : HL_NODE_NONE;
		bool holds = true, taken = false;

		hl_names_tick(i, a->n_keys);
		if (a->values[i].blocks == 0)
			continue;
		if (q->filter)
			err = hl_filter_node(q->filter, m, node, &holds);
		if (!err && holds && q->suppressions)
			err = hl_suppressions_take(
				q->suppressions, m, node, HL_FUNC_COUNT, &a->values[i], &taken);
		if (!holds || taken)
			a->values[i] = (struct hl_value){0};
	}
	hl_progress_end();
	return err;
}

/* Can keyframes and summaries tell? Growth and what is temporary they do not know. */
/* Nor how good an estimate is. */
bool hl_query_sums_suffice(const struct hl_model *m, const struct hl_query *q)
{
	unsigned subjects = q->filter ? hl_filter_subjects(q->filter) : 0;

	if (q->decode || q->pool || (hl_model_estimates(m) && !hl_model_withholds(m)) ||
		(q->quantity != HL_QUANTITY_LIVE && q->quantity != HL_QUANTITY_ALLOCATED))
		return false;
	if (q->key == HL_KEY_STACK)
		return !(subjects & ~HL_FILTER_STACK) &&
		       !(q->suppressions && hl_suppressions_need_calls(q->suppressions));
	return hl_keyed_is_known(q->key) && subjects == 0 && !q->suppressions;
}

static int no_such_pool(struct hl_model *m)
{
	size_t len = (size_t)snprintf(
		m->error, sizeof(m->error), "there is no pool of this name in the recording");
	uint32_t n = hl_model_n_pools(m);

	for (uint32_t i = 0; i < n && len + 1 < sizeof(m->error); i++)
		len += (size_t)snprintf(m->error + len, sizeof(m->error) - len, "%s%s",
			i ? ", " : "; it has ", hl_model_pool_name(m, i));
	return -ENOENT;
}

/* Some pool must have the name. */
static int check_pool(const struct hl_query *q, struct hl_model *m)
{
	if (!q->pool)
		return 0;
	for (uint32_t i = 0; i < hl_model_n_pools(m); i++) {
		if (hl_pattern_fits(q->pool, hl_model_pool_name(m, i)))
			return 0;
	}
	return no_such_pool(m);
}

int hl_query_bind(const struct hl_query *q, struct hl_model *m)
{
	int err = hl_when_check(&q->from, m);

	if (!err)
		err = hl_when_check(&q->to, m);
	if (!err && q->filter)
		err = hl_filter_bind(q->filter, m);
	if (!err && q->suppressions)
		err = hl_suppressions_bind(q->suppressions, m);
	return err ? err : check_pool(q, m);
}

bool hl_model_end_is_known(const struct hl_model *m, const struct hl_when *when)
{
	const struct hl_sums *s = &m->info->withheld;

	return when->kind == HL_WHEN_END && m->info->has_end && s->alloc_blocks == s->free_blocks;
}

static bool end_is_known(const struct hl_model *m, const struct hl_query *q)
{
	return (q->quantity == HL_QUANTITY_LIVE || q->quantity == HL_QUANTITY_GROWTH) &&
	       hl_model_end_is_known(m, &q->to);
}

int hl_query_check_events(struct hl_model *m, const struct hl_query *q)
{
	return hl_model_withholds(m) && !end_is_known(m, q) ? hl_model_no_events(m, "this") : 0;
}

int hl_query_check_lives(struct hl_model *m, const struct hl_query *q)
{
	if (!hl_model_has_order(m))
		return hl_model_no_order(m, "a list of single allocations");
	return hl_query_check_events(m, q);
}

/* The start is the one moment that a profile has beside its end. */
static bool needs_order(const struct hl_query *q)
{
	unsigned subjects = q->filter ? hl_filter_subjects(q->filter) : 0;

	return q->to.kind != HL_WHEN_END || q->from.kind != HL_WHEN_NS || q->from.ns > 0 ||
	       q->quantity == HL_QUANTITY_TEMPORARY || q->key == HL_KEY_LIFE ||
	       q->key == HL_KEY_INTERVAL || subjects & (HL_FILTER_TIME | HL_FILTER_DEATH);
}

int hl_query_check(struct hl_model *m, const struct hl_query *q)
{
	if (!hl_model_has_order(m) && needs_order(q))
		return hl_model_no_order(m, "this");
	if (q->quantity == HL_QUANTITY_TEMPORARY && !q->temporary_ns && !hl_model_has_neighbours(m))
		return hl_model_no_neighbours(m);
	return q->key == HL_KEY_STACK && hl_query_sums_suffice(m, q) ? 0
								     : hl_query_check_events(m, q);
}

static int start(struct hl_question *question)
{
	struct asking *w = (struct asking *)question;
	struct hl_model *m = question->m;
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
	err = hl_query_check(m, &w->q);
	if (err)
		return err;
	a->asked_ns = hl_when_ns(&w->q.to, m);
	w->way = !hl_query_sums_suffice(m, &w->q) ? BY_EVENTS
		 : w->q.key == HL_KEY_STACK       ? BY_STACK
						  : BY_KEY;
	if (w->way == BY_EVENTS)
		start_stream(w);
	return w->way == BY_KEY ? start_keyed(w) : 0;
}

static int finish(struct asking *w)
{
	const struct hl_query *q = &w->q;
	struct hl_answer *a = &w->a;
	int err = 0;

	if (w->way == BY_EVENTS)
		finish_stream(w);
	if (w->way == BY_EVENTS && a->moved && hl_model_withholds(w->question.m))
		err = hl_model_no_events(w->question.m, "this");
	else if (w->way != BY_EVENTS)
		err = q->quantity == HL_QUANTITY_LIVE ? live_of_all(w) : allocated_of_all(w);
	if (!err && w->way == BY_STACK && (q->filter || q->suppressions))
		err = mask(w->question.m, q, a);
	if (q->quantity == HL_QUANTITY_LIVE)
		a->from_ns = a->to_ns;
	for (uint32_t i = 0; i <= a->n_keys; i++) {
		hl_value_add(&a->total, &a->values[i]);
	}
	return err;
}

static bool same(const struct hl_question *qa, const struct hl_question *qb)
{
	const struct hl_query *a = &((const struct asking *)qa)->q,
			      *b = &((const struct asking *)qb)->q;

	return a->quantity == b->quantity && a->key == b->key && hl_when_same(&a->from, &b->from) &&
	       hl_when_same(&a->to, &b->to) && a->filter == b->filter &&
	       a->suppressions == b->suppressions && a->temporary_ns == b->temporary_ns &&
	       a->pool == b->pool && a->decode == b->decode;
}

static void drop(struct hl_question *question)
{
	struct asking *w = (struct asking *)question;

	hl_answer_fini(&w->a);
	hl_keyed_fini(&w->to);
	hl_keyed_fini(&w->from);
	hl_stream_fini(&w->stream);
	free(w);
}

static struct hl_question *new_question(struct hl_model *m, const struct hl_query *q)
{
	static const struct hl_question_kind kind = {start, same, drop};
	struct asking *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->question = (struct hl_question){.kind = &kind, .m = m};
	w->q = *q;
	return &w->question;
}

int hl_model_query(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	struct hl_question *question = new_question(m, q);
	struct asking *w;
	int err;

	*a = (struct hl_answer){0};
	if (!question)
		return hl_model_fail(m, -ENOMEM);
	err = hl_question_ask(&question);
	w = (struct asking *)question;
	if (!err) {
		m->error[0] = 0;
		err = finish(w);
		if (err && !m->error[0])
			hl_model_fail(m, err);
	}
	if (!err) {
		*a = w->a;
		a->unsure = !a->pool && a->total.blocks && hl_model_estimates(m) &&
			    hl_model_withholds(m) && !(a->total.variance > 0);
		w->a = (struct hl_answer){0};
	}
	drop(question);
	return err;
}

void hl_query_expect(struct hl_model *m, const struct hl_query *q)
{
	struct hl_question *question;

	/* These count what they take: for one question at a time. */
	if (q->suppressions)
		return;
	question = new_question(m, q);
	if (question)
		hl_question_expect(question);
}

void hl_answer_fini(struct hl_answer *a)
{
	free(a->values);
	memset(a, 0, sizeof(*a));
}
