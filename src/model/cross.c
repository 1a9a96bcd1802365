/*
 * cross.c - see cross.h.
 *
 * Keyframes know stacks but not threads and tags, so each chunk is needed, as its summary if it has
 * one.
 */
#include "model/cross.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/keyed.h"
#include "model/model_internal.h"
#include "model/pass.h"
#include "model/stream.h"
#include "model/suppress.h"

struct pair {
	uint32_t node, key;
	struct hl_role who;
	hl_tally tally;
};

struct crossing {
	struct hl_model *m;
	const struct hl_query *q;
	uint32_t n_keys;
	HL_VEC(struct pair) pairs;
	struct hl_map by_pair;
	struct hl_place from, to;
	struct hl_summary summary;
	struct hl_reading reading; /* of sums */
	struct hl_stream stream;   /* of events */
	bool by_events;
};

static void forget(void *arg)
{
	struct crossing *c = arg;

	c->pairs.len = 0;
	hl_map_fini(&c->by_pair);
	memset(&c->by_pair, 0, sizeof(c->by_pair));
	if (c->q->suppressions)
		hl_suppressions_reset(c->q->suppressions);
}

/* Is the key told by who it was? */
static bool is_of_role(enum hl_key key)
{
	return key == HL_KEY_STACK || key == HL_KEY_THREAD || key == HL_KEY_TAG;
}

static uint32_t role_key(const struct crossing *c, struct hl_role who)
{
	uint32_t key = c->q->key == HL_KEY_THREAD ? who.thread : who.tag;

	return c->q->key == HL_KEY_STACK ? 0 : hl_min_u32(key, c->n_keys);
}

/* NULL: no memory. */
static struct hl_value *tally_of(
	struct crossing *c, uint32_t node, struct hl_role who, uint32_t key)
{
	uint64_t role = (uint64_t)who.thread << 32 | who.tag, what = (uint64_t)key << 32 | node;
	uint32_t at = hl_map_get(&c->by_pair, what, role);

	if (at == HL_MAP_NONE) {
		at = (uint32_t)c->pairs.len;
		if (hl_vec_push(&c->pairs, ((struct pair){.node = node, .key = key, .who = who})) ||
			hl_map_put(&c->by_pair, what, role, at))
			return NULL;
	}
	return c->pairs.data[at].tally;
}

/* --- from sums --- */

static int begin(void *arg)
{
	forget(arg);
	return 0;
}

static int plan(struct hl_reading *r)
{
	struct crossing *c = r->arg;

	hl_reading_up_to(r, c->m, &c->to);
	while (!c->from.sure)
		c->from = hl_place_before_loss(c->m, &c->from);
	r->first = c->from.chunk < r->last_end ? c->from.chunk : r->last_end;
	return 0;
}

static bool is_whole(const struct crossing *c, size_t chunk)
{
	return (chunk > c->from.chunk || (chunk == c->from.chunk && c->from.cut == HL_CUT_START)) &&
	       chunk < c->to.chunk;
}

static int add_summary(struct crossing *c)
{
	for (size_t i = 0; i < c->summary.n; i++) {
		const struct hl_summary_row *r = &c->summary.rows[i];
		struct hl_role who = hl_role_of(c->m, r->thread);
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

static int want(void *arg, size_t chunk, unsigned *want)
{
	struct crossing *c = arg;
	bool whole = is_whole(c, chunk);
	int err = whole ? hl_reader_summary(c->m->reader, chunk, &c->summary) : -ENOENT;

	*want = whole ? HL_WANT_NODE : HL_WANT_ALL;
	/* A summary that is damaged is no more than one that is missing. */
	if (err == -ENOENT || err == -EBADMSG)
		return 0;
	*want = HL_WANT_NO_EVENTS;
	return err ? err : add_summary(c);
}

static int take(void *arg, size_t chunk, const struct hl_chunk_events *events)
{
	struct crossing *c = arg;
	size_t i = chunk == c->from.chunk ? hl_place_split(c->m, &c->from, events) : 0;
	size_t n = chunk < c->to.chunk ? events->n_events : hl_place_split(c->m, &c->to, events);

	for (; i < n; i++) {
		const struct hl_event *e = &events->events[i];
		struct hl_role who = hl_role_of(c->m, hl_event_owner(e));
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

static int take_block(void *arg, const struct hl_block *b)
{
	struct crossing *c = arg;
	struct hl_value one = hl_block_value(c->m, b), *t;
	bool taken = false;
	uint32_t key;
	int err = 0;

	if (!hl_query_counts(c->q, b))
		return 0;
	if (c->q->suppressions)
		err = hl_suppressions_take(
			c->q->suppressions, c->m, b->node, b->func, &one, &taken);
	if (err || taken)
		return err;
	key = c->q->key == HL_KEY_STACK ? 0 : hl_min_u32(hl_key_of(c->m, c->q->key, b), c->n_keys);
	t = tally_of(c, b->node, (struct hl_role){b->thread, b->tag}, key);
	if (t)
		hl_value_add(&t[HL_OP_ALLOC], &one);
	return t ? 0 : -ENOMEM;
}

/* --- both --- */

static int start(struct crossing *c, struct hl_model *m, const struct hl_query *q)
{
	bool live = q->quantity == HL_QUANTITY_LIVE;
	struct hl_query whole = *q; /* filters on stacks are asked of whole sums */
	int err;

	*c = (struct crossing){.m = m, .q = q};
	err = hl_key_count(m, q->key, &c->n_keys);
	if (!err)
		err = hl_query_bind(q, m);
	if (!err && q->key != HL_KEY_STACK)
		err = hl_query_check(m, q);
	if (err)
		return err;
	whole.key = HL_KEY_STACK;
	c->by_events = !is_of_role(q->key) || !hl_query_sums_suffice(m, &whole);
	c->to = hl_query_to(m, &q->to);
	c->from.sure = true;
	if (!live)
		c->from = hl_query_from(m, &q->from);
	c->reading = (struct hl_reading){
		.plan = plan, .begin = begin, .want = want, .chunk = take, .arg = c};
	if (!c->by_events)
		return 0;
	c->stream = (struct hl_stream){.filter = q->filter,
		.pool = q->pool,
		.from = live ? c->to : c->from,
		.to = c->to,
		.older = live,
		.to_end = q->key == HL_KEY_LIFE,
		.at_birth = q->quantity == HL_QUANTITY_ALLOCATED && q->key != HL_KEY_LIFE,
		.func = q->key == HL_KEY_CALL ||
			(q->suppressions && hl_suppressions_need_calls(q->suppressions)),
		.begin = forget,
		.block = take_block,
		.arg = c};
	hl_stream_init(&c->stream, m);
	return 0;
}

static struct hl_reading *reading_of(struct crossing *c)
{
	return c->by_events ? &c->stream.reading : &c->reading;
}

/* What the question counts of a pair, before filters on stacks. */
static int value_of(const struct crossing *c, const struct pair *p, struct hl_value *v)
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

/* Filters and suppressions that are about stacks alone have not been asked yet. */
static int is_left_out(
	const struct crossing *c, const struct pair *p, const struct hl_value *v, bool *out)
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

static int finish(struct crossing *c, struct hl_cross *a)
{
	const struct hl_place *to = c->by_events ? &c->stream.to : &c->to;
	const struct hl_place *from = c->by_events ? &c->stream.from : &c->from;
	int err = 0;

	a->rows = malloc((c->pairs.len + 1) * sizeof(*a->rows));
	if (!a->rows)
		return -ENOMEM;
	a->to_ns = to->time_ns;
	a->moved = to->moved || from->moved;
	for (size_t i = 0; i < c->pairs.len && !err; i++) {
		const struct pair *p = &c->pairs.data[i];
		struct hl_value v;
		bool out = true;

		err = value_of(c, p, &v);
		if (!err)
			err = is_left_out(c, p, &v, &out);
		if (err || out)
			continue;
		a->rows[a->n++] = (struct hl_cross_row){p->node, p->who, p->key, v};
		hl_value_add(&a->total, &v);
	}
	return err ? hl_model_fail(c->m, err) : 0;
}

static void stop(struct crossing *c)
{
	hl_vec_free(&c->pairs);
	hl_map_fini(&c->by_pair);
	hl_summary_free(&c->summary);
	hl_stream_fini(&c->stream);
}

static const struct hl_role nobody = {HL_NODE_NONE, HL_TAG_NONE};

static int rows_of(struct hl_cross *c, struct hl_model *m, const struct hl_answer *a,
	struct hl_role who, uint32_t key)
{
	*c = (struct hl_cross){.total = a->total, .to_ns = a->to_ns, .moved = a->moved};
	c->rows = malloc(((size_t)a->n_keys + 1) * sizeof(*c->rows));
	if (!c->rows)
		return hl_model_fail(m, -ENOMEM);
	for (uint32_t i = 0; i <= a->n_keys; i++) {
		if (a->values[i].blocks)
			c->rows[c->n++] = (struct hl_cross_row){
				i < a->n_keys ? i : HL_NODE_NONE, who, key, a->values[i]};
	}
	return 0;
}

int hl_cross_of(struct hl_cross *c, struct hl_model *m, const struct hl_answer *a)
{
	return rows_of(c, m, a, nobody, 0);
}

int hl_cross_by_stack(
	const struct hl_cross *c, struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	*a = (struct hl_answer){.quantity = q->quantity,
		.key = HL_KEY_STACK,
		.to_ns = c->to_ns,
		.total = c->total,
		.n_keys = m->n_nodes,
		.pool = q->pool != NULL,
		.moved = c->moved};
	a->values = calloc((size_t)a->n_keys + 1, sizeof(*a->values));
	if (!a->values)
		return hl_model_fail(m, -ENOMEM);
	for (size_t i = 0; i < c->n; i++)
		hl_value_add(&a->values[hl_min_u32(c->rows[i].node, a->n_keys)], &c->rows[i].value);
	return 0;
}

/* With one thread and no tags, and where neither can be known. */
static int by_stack(
	struct hl_model *m, const struct hl_query *question, struct hl_role who, struct hl_cross *c)
{
	struct hl_query q = *question;
	struct hl_answer a;
	int err;

	hl_cross_fini(c);
	q.key = HL_KEY_STACK;
	err = hl_model_query(m, &q, &a);
	if (!err)
		err = rows_of(c, m, &a, who, question->key == HL_KEY_TAG ? m->n_tags : 0);
	hl_answer_fini(&a);
	return err;
}

int hl_model_cross(
	struct hl_model *m, const struct hl_query *questions, struct hl_cross *answers, size_t n)
{
	struct crossing c[2] = {0};
	uint32_t n_threads = 0;
	int err = hl_reader_n_threads(m->reader, &n_threads);
	bool one = !err && n_threads == 1 && m->n_tags == 0 && is_of_role(questions[0].key);
	struct hl_role who = one ? (struct hl_role){0, HL_TAG_NONE} : nobody;

	one |= hl_model_withholds(m) && questions[0].key == HL_KEY_STACK;
	memset(answers, 0, n * sizeof(*answers));
	for (size_t i = 0; i < n && one && !err; i++) {
		err = questions[i].key == HL_KEY_STACK ? 0 : hl_query_check(m, &questions[i]);
		if (!err)
			err = by_stack(m, &questions[i], who, &answers[i]);
	}
	if (one || err)
		return err;
	for (size_t i = 0; i < n && !err; i++)
		err = start(&c[i], m, &questions[i]);
	if (!err)
		err = hl_pass(m, reading_of(&c[0]), n > 1 ? reading_of(&c[1]) : NULL);
	for (size_t i = 0; i < n && !err; i++) {
		err = finish(&c[i], &answers[i]);
		if (!err && answers[i].moved && questions[i].key == HL_KEY_STACK)
			err = by_stack(m, &questions[i], nobody, &answers[i]);
	}
	for (size_t i = 0; i < n; i++)
		stop(&c[i]);
	return err;
}

void hl_cross_fini(struct hl_cross *c)
{
	free(c->rows);
	memset(c, 0, sizeof(*c));
}
