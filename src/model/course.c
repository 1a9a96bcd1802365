/*
 * course.c - see course.h.
 *
 * Lifetimes added are the times of all deaths less the times of all births: nothing has to be known
 * of single blocks.
 */
#include "model/course.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "trace/totals.h"

struct work {
	struct hl_model *m;
	enum hl_key key;
	uint32_t n_keys;
	HL_VEC(struct hl_course) rows;
	struct hl_map by_pair;   /* (node, key) -> row */
	struct hl_totals totals; /* its nodes are rows */
	const struct hl_rest *rest;
};

/* The same at the birth and at the death of a block. */
static uint32_t key_of(const struct work *w, const struct hl_event *e)
{
	struct hl_role who = hl_role_of(w->m, hl_event_owner(e));
	struct hl_block b = {
		.ordinal = e->ordinal, .size = e->size, .thread = who.thread, .tag = who.tag};

	return w->key == HL_KEY_STACK ? 0 : hl_min_u32(hl_key_of(w->m, w->key, &b), w->n_keys);
}

static int row_of(struct work *w, const struct hl_event *e, uint32_t *row)
{
	uint32_t key = key_of(w, e);
	struct hl_course c = {.node = e->node, .key = key};
	int err;

	*row = hl_map_get(&w->by_pair, e->node, key);
	if (*row != HL_MAP_NONE)
		return 0;
	*row = (uint32_t)w->rows.len;
	err = hl_vec_push(&w->rows, c);
	return err ? err : hl_map_put(&w->by_pair, e->node, key, *row);
}

static int take(void *arg, const struct hl_event *event)
{
	struct work *w = arg;
	struct hl_event e = *event;
	struct hl_course *c;
	int err = row_of(w, event, &e.node);

	if (err)
		return err;
	c = &w->rows.data[e.node];
	if (e.op == HL_OP_ALLOC) {
		c->left.bytes += e.bytes;
		c->left.blocks += e.blocks;
		c->life_ns -= e.blocks * e.time_ns;
		if (c->left.bytes > c->most.bytes)
			c->most = c->left;
	} else {
		c->left.bytes -= e.bytes;
		c->left.blocks -= e.blocks;
		c->life_ns += e.blocks * e.time_ns;
	}
	if (w->rest && e.time_ns <= w->rest->peak_ns)
		c->at_peak = c->left;
	return hl_totals_apply(&w->totals, &e);
}

static struct hl_value value(uint64_t bytes, uint64_t blocks)
{
	return (struct hl_value){.bytes = bytes, .blocks = blocks};
}

static void finish(struct work *w, struct hl_courses *c)
{
	const struct hl_totals *t = &w->totals;

	c->allocated = value(t->sums.alloc_bytes, t->sums.alloc_blocks);
	c->left = value(hl_sums_live_bytes(&t->sums), hl_sums_live_blocks(&t->sums));
	c->at_peak = value(t->peak_bytes, t->peak_blocks);
	c->peak_ns = t->peak_time_ns;
	for (size_t i = 0; i < t->n_nodes && i < c->n; i++) {
		struct hl_course *n = &c->rows[i];
		const struct hl_sums *sums = &hl_totals_node(t, i)->sums;

		n->allocated = value(sums->alloc_bytes, sums->alloc_blocks);
		if (!w->rest)
			hl_totals_at_peak(t, i, &n->at_peak.bytes, &n->at_peak.blocks);
		n->life_ns += n->left.blocks * c->end_ns;
	}
}

/* Its peak is the heap's. */
static int add_rest(struct work *w)
{
	for (size_t i = 0; i < w->rest->n; i++) {
		const struct hl_rest_row *r = &w->rest->rows[i];
		struct hl_course c = {.node = r->node,
			.allocated = r->allocated,
			.left = r->left,
			.at_peak = r->at_peak,
			.most = r->at_peak.bytes > r->left.bytes ? r->at_peak : r->left,
			.rest = true};
		int err = hl_vec_push(&w->rows, c);

		if (err)
			return hl_model_fail(w->m, err);
	}
	return 0;
}

static void finish_rest(const struct work *w, struct hl_courses *c)
{
	c->at_peak = (struct hl_value){0};
	for (size_t i = 0; i < c->n; i++)
		hl_value_add(&c->at_peak, &c->rows[i].at_peak);
	hl_value_add(&c->allocated, &w->rest->allocated);
	hl_value_add(&c->left, &w->rest->left);
	c->peak_ns = w->rest->peak_ns;
}

int hl_model_courses(
	struct hl_courses *c, struct hl_model *m, const struct hl_query *q, struct hl_rest *rest)
{
	struct work w = {.m = m, .key = q->key, .rest = rest};
	struct hl_lives l = {.query = q,
		.rest = rest,
		.want = HL_WANT_TIME | HL_WANT_FUNC | HL_WANT_OTHERS,
		.event = take,
		.arg = &w};
	int err;

	*c = (struct hl_courses){0};
	err = hl_key_count(m, q->key, &w.n_keys);
	if (err)
		return hl_model_fail(m, err);
	hl_totals_init(&w.totals);
	err = hl_model_lives(m, &l);
	c->end_ns = l.end_ns;
	c->moved = l.moved;
	if (!err && rest)
		err = add_rest(&w);
	c->rows = w.rows.data;
	c->n = w.rows.len;
	if (!err)
		finish(&w, c);
	if (!err && rest)
		finish_rest(&w, c);
	hl_totals_fini(&w.totals);
	hl_map_fini(&w.by_pair);
	return err;
}

void hl_courses_fini(struct hl_courses *c)
{
	free(c->rows);
	memset(c, 0, sizeof(*c));
}
