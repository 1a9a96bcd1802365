/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_history.c - see site_history.h.
 *
 * The sum of lifetimes is the sum of the times of all frees minus the sum of the times of all
 * allocations, so no state is kept for single blocks.
 */
#include "model/views/site_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "trace/totals.h"

struct builder {
	struct hl_model *m;
	enum hl_key key;
	uint32_t n_keys;
	HL_VEC(struct hl_site_history) rows;
	struct hl_pair_map by_pair; /* (node, key) -> row */
	struct hl_totals totals;    /* indexed by row instead of node */
	const struct hl_aggregated *rest;
};

/* The key is the same for the allocation and the free of a block. */
static uint32_t event_key(const struct builder *w, const struct hl_event *e)
{
	struct hl_role owner = hl_role_at(w->m, hl_event_alloc_role(e));
	struct hl_block b = {
		.ordinal = e->ordinal, .size = e->size, .thread = owner.thread, .tag = owner.tag};

	return w->key == HL_KEY_STACK ? 0 : hl_min_u32(hl_key_of(w->m, w->key, &b), w->n_keys);
}

static int find_row(struct builder *w, const struct hl_event *e, uint32_t *row)
{
	uint32_t key = event_key(w, e);
	struct hl_site_history c = {.node = e->node, .key = key};
	int err;

	*row = hl_pair_map_get(&w->by_pair, e->node, key);
	if (*row != HL_PAIR_MAP_NONE)
		return 0;
	*row = (uint32_t)w->rows.len;
	err = hl_vec_push(&w->rows, c);
	return err ? err : hl_pair_map_put(&w->by_pair, e->node, key, *row);
}

static int add_event(void *arg, const struct hl_event *event)
{
	struct builder *w = arg;
	struct hl_event e = *event;
	struct hl_site_history *c;
	int err = find_row(w, event, &e.node);

	if (err)
		return err;
	c = &w->rows.data[e.node];
	if (e.op == HL_OP_ALLOC) {
		c->live_end.bytes += e.bytes;
		c->live_end.blocks += e.blocks;
		c->life_ns -= e.blocks * e.time_ns;
		if (c->live_end.bytes > c->max_live.bytes)
			c->max_live = c->live_end;
	} else {
		c->live_end.bytes -= e.bytes;
		c->live_end.blocks -= e.blocks;
		c->life_ns += e.blocks * e.time_ns;
	}
	if (w->rest && e.time_ns <= w->rest->peak_ns)
		c->at_peak = c->live_end;
	return hl_totals_apply(&w->totals, &e);
}

static struct hl_value make_value(uint64_t bytes, uint64_t blocks)
{
	return (struct hl_value){.bytes = bytes, .blocks = blocks};
}

static void set_totals(struct builder *w, struct hl_site_histories *c)
{
	const struct hl_totals *t = &w->totals;

	c->allocated = make_value(t->sums.alloc_bytes, t->sums.alloc_blocks);
	c->live_end = make_value(hl_sums_live_bytes(&t->sums), hl_sums_live_blocks(&t->sums));
	c->at_peak = make_value(t->peak_bytes, t->peak_blocks);
	c->peak_ns = t->peak_time_ns;
	for (size_t i = 0; i < t->n_nodes && i < c->n; i++) {
		struct hl_site_history *n = &c->rows[i];
		const struct hl_sums *sums = &hl_totals_node(t, i)->sums;

		n->allocated = make_value(sums->alloc_bytes, sums->alloc_blocks);
		if (!w->rest)
			hl_totals_at_peak(t, i, &n->at_peak.bytes, &n->at_peak.blocks);
		n->life_ns += n->live_end.blocks * c->end_ns;
	}
}

/* Aggregated blocks: at_peak is the value at the heap's peak. */
static int add_aggregated_rows(struct builder *w)
{
	for (size_t i = 0; i < w->rest->n; i++) {
		const struct hl_aggregated_row *r = &w->rest->rows[i];
		struct hl_site_history c = {.node = r->node,
			.allocated = r->allocated,
			.live_end = r->live_at_end,
			.at_peak = r->at_peak,
			.max_live = r->at_peak.bytes > r->live_at_end.bytes ? r->at_peak
									    : r->live_at_end,
			.is_aggregated = true};
		int err = hl_vec_push(&w->rows, c);

		if (err)
			return hl_model_fail(w->m, err);
	}
	return 0;
}

static void add_aggregated_totals(const struct builder *w, struct hl_site_histories *c)
{
	c->at_peak = (struct hl_value){0};
	for (size_t i = 0; i < c->n; i++)
		hl_value_add(&c->at_peak, &c->rows[i].at_peak);
	hl_value_add(&c->allocated, &w->rest->allocated);
	hl_value_add(&c->live_end, &w->rest->left);
	c->peak_ns = w->rest->peak_ns;
}

int hl_model_site_histories(struct hl_site_histories *c, struct hl_model *m,
	const struct hl_query *q, struct hl_aggregated *rest)
{
	struct builder w = {.m = m, .key = q->key, .rest = rest};
	struct hl_lifetimes l = {.query = q,
		.aggregated = rest,
		.want = HL_WANT_TIME | HL_WANT_FUNC | HL_WANT_OTHERS,
		.event = add_event,
		.arg = &w};
	int err;

	*c = (struct hl_site_histories){0};
	err = hl_key_count(m, q->key, &w.n_keys);
	if (err)
		return hl_model_fail(m, err);
	hl_totals_init(&w.totals);
	err = hl_model_lifetimes(m, &l);
	c->end_ns = l.end_ns;
	c->before_damage = l.before_damage;
	if (!err && rest)
		err = add_aggregated_rows(&w);
	c->rows = w.rows.data;
	c->n = w.rows.len;
	if (!err)
		set_totals(&w, c);
	if (!err && rest)
		add_aggregated_totals(&w, c);
	hl_totals_fini(&w.totals);
	hl_pair_map_fini(&w.by_pair);
	return err;
}

void hl_site_histories_fini(struct hl_site_histories *c)
{
	free(c->rows);
	memset(c, 0, sizeof(*c));
}
