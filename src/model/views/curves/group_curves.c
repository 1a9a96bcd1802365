/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_curves.c - see group_curves.h.
 *
 * First a table is made of all keys that may have a value, then group_curves_fill.c adds the values
 * of the keys to the cells of their rows. At the end the rows with the highest values are picked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/query/query_plan.h"
#include "model/query/sums_by_key.h"
#include "model/views/curves/group_curves_internal.h"
#include "util/safe_text.h"

/* At most 64 MiB. */
#define CELLS_MAX (UINT64_C(8) << 20)

struct hl_query hl_group_curves_query(const struct hl_group_curves_request *r)
{
	return (struct hl_query){.quantity = HL_QUANTITY_ALLOCATED,
		.key = hl_group_key(r->group),
		.to.kind = HL_TIME_SPEC_END,
		.filter = r->filter};
}

/* --- rows --- */

/* Stacks that have allocated by the last moment, and that a filter on stacks selects. */
static int mark_stacks(struct hl_curves_builder *b, struct hl_answer *a)
{
	struct hl_position p = b->c->by_events ? hl_position_at(b->m, UINT64_MAX)
					       : b->positions[b->c->n_points - 1];
	struct hl_sums *sums = malloc(((size_t)a->n_keys + 1) * sizeof(*sums));
	int err = sums ? hl_sums_at(b->m, &p, sums) : -ENOMEM;

	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		bool holds = sums[i].alloc_blocks > 0;

		if (holds && b->request->filter && !b->c->by_events)
			err = hl_filter_node(
				b->request->filter, b->m, i < a->n_keys ? i : HL_NODE_NONE, &holds);
		a->values[i].blocks = holds;
	}
	free(sums);
	return err;
}

static int make_rows(struct hl_curves_builder *b)
{
	struct hl_answer a = {.key = b->key, .n_keys = b->n_keys};
	int err = 0;

	a.values = calloc((size_t)b->n_keys + 1, sizeof(*a.values));
	b->row_of = malloc(((size_t)b->n_keys + 1) * sizeof(*b->row_of));
	if (!a.values || !b->row_of)
		err = -ENOMEM;
	else if (b->key == HL_KEY_STACK)
		err = mark_stacks(b, &a);
	for (uint32_t i = 0; i <= b->n_keys && !err && b->key != HL_KEY_STACK; i++)
		a.values[i].blocks = 1;
	if (!err)
		err = hl_table_build_mapped(
			&b->c->table, b->m, &a, b->request->group, b->request->folds, b->row_of);
	free(a.values);
	return err;
}

static int make_cells(struct hl_curves_builder *b)
{
	struct hl_group_curves *c = b->c;
	uint64_t cells = (uint64_t)c->table.n * c->n_points;
	char rows[HL_TEXT_SIZE_MAX];

	if (cells > CELLS_MAX) {
		snprintf(b->m->error, sizeof(b->m->error),
			"%s rows at %zu moments do not fit into memory: use a group with fewer "
			"rows, such as module, a filter, or fewer columns",
			hl_text_count(rows, c->table.n), c->n_points);
		return -EOVERFLOW;
	}
	c->live = calloc(cells + 1, sizeof(*c->live));
	return c->live ? 0 : -ENOMEM;
}

/* --- the rows with the highest values --- */

static void set_highest(struct hl_group_curves *c)
{
	for (size_t i = 0; i < c->table.n; i++) {
		uint64_t highest = 0;

		for (size_t k = 0; k < c->n_points; k++)
			highest = hl_max_u64(highest, c->live[i * c->n_points + k]);
		c->table.rows[i].value = (struct hl_value){.bytes = highest};
	}
}

static int compare_highest(const void *pa, const void *pb, void *arg)
{
	const struct hl_table_row *rows = ((const struct hl_table *)arg)->rows,
				  *a = &rows[*(const uint32_t *)pa],
				  *b = &rows[*(const uint32_t *)pb];
	int c;

	if (a->value.bytes != b->value.bytes)
		return a->value.bytes > b->value.bytes ? -1 : 1;
	c = strcmp(a->name, b->name);
	return c ? c : a->key < b->key ? -1 : a->key > b->key;
}

static int compare_keys(const void *pa, const void *pb, void *arg)
{
	const struct hl_table_row *rows = ((const struct hl_table *)arg)->rows;
	uint32_t a = rows[*(const uint32_t *)pa].key, b = rows[*(const uint32_t *)pb].key;

	return a < b ? -1 : a > b;
}

/* Moves the chosen rows and their cells to the begin. Returns 0 or -ENOMEM. */
static int move_rows(struct hl_group_curves *c, const uint32_t *chosen, size_t n)
{
	struct hl_table_row *rows = malloc((n + 1) * sizeof(*rows));
	uint64_t *live = malloc((n * c->n_points + 1) * sizeof(*live));

	if (!rows || !live) {
		free(rows);
		free(live);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		rows[i] = c->table.rows[chosen[i]];
		memcpy(live + i * c->n_points, c->live + chosen[i] * c->n_points,
			c->n_points * sizeof(*live));
	}
	free(c->table.rows);
	free(c->live);
	c->table.rows = rows;
	c->table.n = n;
	c->live = live;
	return 0;
}

static void set_others(struct hl_group_curves *c)
{
	for (size_t k = 0; k < c->n_points; k++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < c->table.n; i++)
			sum += c->live[i * c->n_points + k];
		c->others[k] = c->total[k] - sum;
	}
}

static int pick_rows(struct hl_group_curves *c, size_t limit)
{
	uint32_t *order = malloc((c->table.n + 1) * sizeof(*order));
	size_t n, all = 0;
	int err;

	if (!order)
		return -ENOMEM;
	set_highest(c);
	for (size_t i = 0; i < c->table.n; i++) {
		if (c->table.rows[i].value.bytes > 0)
			order[all++] = (uint32_t)i;
	}
	qsort_r(order, all, sizeof(*order), compare_highest, &c->table);
	n = limit && limit < all ? limit : all;
	c->n_others = all - n;
	if (hl_group_is_ordered(c->table.group))
		qsort_r(order, n, sizeof(*order), compare_keys, &c->table);
	err = move_rows(c, order, n);
	free(order);
	if (err)
		return err;
	set_others(c);
	for (size_t k = 0; k < c->n_points; k++)
		c->table.total.bytes = hl_max_u64(c->table.total.bytes, c->total[k]);
	return 0;
}

/* --- both --- */

static int start(struct hl_curves_builder *b)
{
	struct hl_query q = hl_group_curves_query(b->request);
	struct hl_query_plan plan = {0};
	int err = hl_model_require(b->m, HL_NEEDS_ORDER, "a timeline");

	if (!err)
		err = hl_query_bind(&q, b->m);
	if (!err)
		err = hl_query_plan(b->m, &q, &plan);
	if (!err)
		err = hl_key_count(b->m, b->key, &b->n_keys);
	b->c->by_events = plan.method == HL_METHOD_EVENTS;
	return err;
}

static int alloc_moments(struct hl_curves_builder *b)
{
	struct hl_group_curves *c = b->c;
	size_t n = b->request->points;

	c->times = calloc(n, sizeof(*c->times));
	c->known = calloc(n, sizeof(*c->known));
	c->total = calloc(n, sizeof(*c->total));
	c->others = calloc(n, sizeof(*c->others));
	b->positions = calloc(n, sizeof(*b->positions));
	return c->times && c->known && c->total && c->others && b->positions ? 0 : -ENOMEM;
}

int hl_group_curves_read(
	struct hl_group_curves *c, struct hl_model *m, const struct hl_group_curves_request *r)
{
	struct hl_curves_builder b = {.c = c, .m = m, .request = r, .key = hl_group_key(r->group)};
	int err;

	*c = (struct hl_group_curves){.range = r->range};
	err = start(&b);
	if (!err)
		err = alloc_moments(&b);
	if (!err)
		err = hl_curves_choose_moments(&b);
	if (!err)
		err = make_rows(&b);
	if (!err)
		err = make_cells(&b);
	if (!err)
		err = hl_curves_fill(&b);
	if (!err)
		err = pick_rows(c, r->limit);
	free(b.row_of);
	free(b.positions);
	return err == -ENOMEM ? hl_model_fail(m, err) : err;
}

void hl_group_curves_fini(struct hl_group_curves *c)
{
	free(c->times);
	free(c->known);
	free(c->total);
	free(c->others);
	free(c->live);
	hl_table_fini(&c->table);
	*c = (struct hl_group_curves){0};
}
