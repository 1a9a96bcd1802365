/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_callers.c - where most of a row of a list comes from: the function that called its site.
 * A site that serves many callers says little without it.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/model_internal.h"
#include "model/overview/overview_internal.h"
#include "model/stack/site.h"

/* The sums that a list is made of; those of growing sites have no stacks of their own. */
static const struct hl_answer *answer_of(
	const struct hl_overview_builder *b, enum hl_overview_list_id id)
{
	return &b->answers[id == HL_OVERVIEW_HELD       ? HL_ANSWER_PEAK
			   : id == HL_OVERVIEW_CHURNING ? HL_ANSWER_ALLOCATED
							: HL_ANSWER_END];
}

struct callers {
	struct hl_overview_builder *b;
	struct hl_overview_list *l;
	uint32_t *row_of;           /* per site: its row, or HL_OVERVIEW_NO_ROW */
	struct hl_pair_map by_pair; /* (row, frame) -> index in bytes */
	HL_VEC(uint64_t) bytes;
};

static int add_bytes(struct callers *c, uint32_t row, uint32_t frame, uint64_t bytes)
{
	struct hl_overview_caller *most = &c->l->callers[row];
	uint32_t at = hl_pair_map_get(&c->by_pair, row, frame);
	int err = 0;

	most->bytes += bytes;
	if (frame == HL_NODE_NONE)
		return 0;
	if (at == HL_PAIR_MAP_NONE) {
		at = (uint32_t)c->bytes.len;
		err = hl_vec_push(&c->bytes, 0);
		if (!err)
			err = hl_pair_map_put(&c->by_pair, row, frame, at);
	}
	if (err)
		return err;
	c->bytes.data[at] += bytes;
	/* For now the bytes of the caller. */
	if ((double)c->bytes.data[at] > most->percent) {
		most->frame = frame;
		most->percent = (double)c->bytes.data[at];
	}
	return 0;
}

static int add_node(struct callers *c, uint32_t node, uint64_t bytes)
{
	uint32_t site = c->b->row_of[node], row, frame;
	int err;

	if (site >= c->b->sites.len || bytes == 0)
		return 0;
	row = c->row_of[site];
	if (row == HL_OVERVIEW_NO_ROW)
		return 0;
	err = hl_model_find_site_caller(c->b->m, node, &frame);
	return err ? err : add_bytes(c, row, frame, bytes);
}

static int add_nodes(struct callers *c, const struct hl_answer *a)
{
	int err = 0;

	for (size_t i = 0; i < c->l->n; i++) {
		c->row_of[c->l->sites[i]] = (uint32_t)i;
		c->l->callers[i].frame = HL_NODE_NONE;
	}
	for (uint32_t i = 0; i < a->n_keys && !err; i++)
		err = add_node(c, i, a->values[i].bytes);
	for (size_t i = 0; i < c->l->n; i++) {
		struct hl_overview_caller *k = &c->l->callers[i];

		k->percent = k->bytes ? k->percent * 100 / (double)k->bytes : 0;
	}
	return err;
}

static int find_in_list(struct hl_overview_builder *b, enum hl_overview_list_id id)
{
	struct callers c = {.b = b, .l = &b->o->lists[id]};
	int err;

	c.row_of = malloc((b->sites.len + 1) * sizeof(*c.row_of));
	c.l->callers = calloc(c.l->n + 1, sizeof(*c.l->callers));
	err = c.row_of && c.l->callers ? 0 : hl_model_fail(b->m, -ENOMEM);
	for (size_t i = 0; i < b->sites.len && !err; i++)
		c.row_of[i] = HL_OVERVIEW_NO_ROW;
	if (!err)
		err = add_nodes(&c, answer_of(b, id));
	hl_pair_map_fini(&c.by_pair);
	hl_vec_free(&c.bytes);
	free(c.row_of);
	return err;
}

/* A site without a source file says little in a sentence. */
static void name_callers(struct hl_overview_builder *b, const struct hl_overview_list *l)
{
	for (size_t i = 0; i < b->o->n_verdicts; i++) {
		struct hl_overview_verdict *v = &b->o->verdicts[i];

		if (v->kind != HL_VERDICT_ALLOCATED || hl_model_frame(b->m, v->frame)->file)
			continue;
		for (size_t k = 0; k < l->n; k++) {
			if (b->o->sites[l->sites[k]].frame == v->frame &&
				l->callers[k].percent >= HL_OVERVIEW_CALLER_PERCENT)
				v->caller = l->callers[k].frame;
		}
	}
}

int hl_overview_find_callers(struct hl_overview_builder *b)
{
	const struct hl_overview_list *churning = &b->o->lists[HL_OVERVIEW_CHURNING];
	int err = 0;

	for (int id = 0; id < HL_OVERVIEW_LISTS && !err; id++) {
		if (b->o->lists[id].n > 0 && answer_of(b, id)->values)
			err = find_in_list(b, id);
	}
	if (!err && churning->callers)
		name_callers(b, churning);
	return err;
}
