/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_groups.c - see block_groups.h.
 */
#include "model/blocks/block_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "model/blocks/block_list.h"

struct group_counter {
	struct hl_model *m;
	struct hl_block_group *of; /* per node; the last: without a stack */
};

static void begin_count(void *arg)
{
	struct group_counter *c = arg;

	for (uint32_t i = 0; i <= c->m->n_nodes; i++)
		c->of[i] = (struct hl_block_group){
			.node = i < c->m->n_nodes ? i : HL_NODE_NONE, .first_ns = UINT64_MAX};
}

static int count_block(void *arg, const struct hl_block *b, const struct hl_value *value)
{
	struct group_counter *c = arg;
	struct hl_block_group *g = &c->of[b->node < c->m->n_nodes ? b->node : c->m->n_nodes];

	hl_value_add(&g->value, value);
	g->leaked_blocks += b->free_ns == UINT64_MAX ? value->blocks : 0;
	g->first_ns = hl_min_u64(g->first_ns, b->alloc_ns);
	g->last_ns = hl_max_u64(g->last_ns, b->alloc_ns);
	return 0;
}

/* --- the order --- */

/* Lower is earlier. */
static uint64_t rank_of(const struct hl_block_group *g, enum hl_group_order order)
{
	switch (order) {
	case HL_GROUP_ORDER_BYTES:
		return ~g->value.bytes;
	case HL_GROUP_ORDER_BLOCKS:
		return ~g->value.blocks;
	case HL_GROUP_ORDER_LEAKED:
		return ~g->leaked_blocks;
	case HL_GROUP_ORDER_FIRST:
		return g->first_ns;
	case HL_GROUP_ORDER_LAST:
		return g->last_ns;
	case HL_GROUP_ORDER_INTERVAL:
		return ~(g->last_ns - g->first_ns);
	case HL_GROUP_ORDER_RUN_BLOCKS:
		return ~g->run.blocks;
	case HL_GROUP_ORDER_RUN_LEAKED:
		return ~g->run.leaked_blocks;
	case HL_GROUP_ORDER_RUN_FIRST:
		return g->run.first_ns;
	case HL_GROUP_ORDER_RUN_LAST:
		return g->run.last_ns;
	case HL_GROUP_ORDER_RUN_INTERVAL:
		return ~(g->run.last_ns - g->run.first_ns);
	case HL_GROUP_ORDER_RUN_PEAK:
		return g->run.peak_ns;
	}
	return 0;
}

struct group_sort {
	enum hl_group_order order;
	bool reverse;
};

static int compare_groups(const void *pa, const void *pb, void *arg)
{
	const struct hl_block_group *a = pa, *b = pb;
	const struct group_sort *s = arg;
	uint64_t ra = rank_of(a, s->order), rb = rank_of(b, s->order);

	if (ra == rb) {
		ra = a->first_ns;
		rb = b->first_ns;
	}
	if (ra == rb) {
		ra = a->node;
		rb = b->node;
	}
	return ((ra > rb) - (ra < rb)) * (s->reverse ? -1 : 1);
}

/* Moves the groups with blocks to the begin, and sorts them. */
static void build_rows(struct group_counter *c, struct hl_block_groups *g, struct group_sort s)
{
	for (uint32_t i = 0; i <= c->m->n_nodes; i++) {
		if (c->of[i].value.blocks == 0)
			continue;
		c->of[i].run = *hl_model_group_of(c->m, i);
		c->of[g->n++] = c->of[i];
	}
	g->rows = c->of;
	if (g->n > 0)
		qsort_r(g->rows, g->n, sizeof(*g->rows), compare_groups, &s);
}

/* --- the list --- */

int hl_block_groups_check(struct hl_model *m, const struct hl_query *q)
{
	int err = hl_model_check_groups(m, HL_GROUPS_COUNTS | HL_GROUPS_TIMES);

	return err ? err : hl_block_list_check(m, q);
}

int hl_block_groups(struct hl_block_groups *g, struct hl_model *m, const struct hl_query *q,
	enum hl_group_order order, bool reverse)
{
	struct group_counter c = {.m = m};
	const struct hl_block_sink sink = {
		.begin = begin_count, .block = count_block, .with_frees = true, .arg = &c};
	int err = hl_block_groups_check(m, q);

	*g = (struct hl_block_groups){0};
	if (!err)
		err = hl_model_load_groups(m, HL_GROUPS_COUNTS | HL_GROUPS_TIMES);
	if (err)
		return err;
	c.of = calloc((size_t)m->n_nodes + 1, sizeof(*c.of));
	err = c.of ? hl_query_blocks(m, q, &sink, &g->answer) : hl_model_fail(m, -ENOMEM);
	if (err)
		free(c.of);
	else
		build_rows(&c, g, (struct group_sort){order, reverse});
	return err;
}

void hl_block_groups_fini(struct hl_block_groups *g)
{
	free(g->rows);
	*g = (struct hl_block_groups){0};
}
