/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks_view.c - a page of single blocks; grouped, all stacks of the blocks.
 */
#include <stdio.h>
#include <string.h>

#include "model/query/query_plan.h"
#include "request/result.h"

#define TEXT_ROWS 20
#define JSON_ROWS 100

static size_t find_limit(const struct hl_request *r)
{
	if (!r->limit_given)
		return r->unlimited ? JSON_ROWS : TEXT_ROWS;
	return r->limit > 0 ? r->limit : HL_BLOCK_LIST_MAX - r->offset;
}

static int run_groups(struct hl_plan *p, const struct hl_query *q, struct hl_result *r)
{
	static const enum hl_group_order orders[] = {
		[HL_SORT_BYTES] = HL_GROUP_ORDER_BYTES,
		[HL_SORT_BLOCKS] = HL_GROUP_ORDER_BLOCKS,
		[HL_SORT_LEAKED] = HL_GROUP_ORDER_LEAKED,
		[HL_SORT_FIRST] = HL_GROUP_ORDER_FIRST,
		[HL_SORT_LAST] = HL_GROUP_ORDER_LAST,
		[HL_SORT_INTERVAL] = HL_GROUP_ORDER_INTERVAL,
		[HL_SORT_RUN_BLOCKS] = HL_GROUP_ORDER_RUN_BLOCKS,
		[HL_SORT_RUN_LEAKED] = HL_GROUP_ORDER_RUN_LEAKED,
		[HL_SORT_RUN_FIRST] = HL_GROUP_ORDER_RUN_FIRST,
		[HL_SORT_RUN_LAST] = HL_GROUP_ORDER_RUN_LAST,
		[HL_SORT_RUN_INTERVAL] = HL_GROUP_ORDER_RUN_INTERVAL,
		[HL_SORT_RUN_PEAK] = HL_GROUP_ORDER_RUN_PEAK,
	};
	const struct hl_request *request = p->request;
	struct hl_blocks_result *x = r->data;
	bool follows = request->sorted && 1u << request->sort & HL_SORTS_GROUPS;
	size_t len = strlen(r->heading);
	int err = hl_block_groups(&x->groups, p->m, q,
		follows ? orders[request->sort] : HL_GROUP_ORDER_BYTES, x->reverse);

	if (err)
		return err;
	x->sort = follows ? request->sort_value : "bytes";
	snprintf(r->heading + len, sizeof(r->heading) - len, ", by stack");
	hl_result_set_answer(r, &x->groups.answer);
	return 0;
}

static int run_list(struct hl_plan *p, const struct hl_query *q, struct hl_result *r)
{
	const struct hl_request *request = p->request;
	struct hl_blocks_result *x = r->data;
	bool follows = request->sorted && 1u << request->sort & HL_SORTS_BLOCKS;
	struct hl_block_page page = request->block_page;
	int err;

	page.order =
		follows ? (enum hl_block_order)(request->sort - HL_SORT_TIME) : HL_BLOCK_ORDER_TIME;
	page.reverse = x->reverse;
	page.offset = x->offset;
	page.limit = x->limit;
	err = hl_block_list(&x->list, p->m, q, &page);
	if (err)
		return err;
	x->sort = follows ? request->sort_value : "time";
	hl_result_set_answer(r, &x->list.answer);
	return 0;
}

static int run_blocks(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_query q = hl_plan_query(p, part->quantity);
	struct hl_blocks_result *x = r->data;

	x->grouped = part->grouped;
	x->reverse = p->request->reverse;
	x->full_stacks = p->request->full_stacks;
	x->offset = p->request->offset;
	x->limit = find_limit(p->request);
	return x->grouped ? run_groups(p, &q, r) : run_list(p, &q, r);
}

static int check_blocks(
	const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	struct hl_query q = hl_plan_query_to_check(p, part);

	if (part->grouped) {
		*reads = "reads every event twice: for the groups of the whole run, and for the "
			 "matching blocks, because single blocks are in no sum";
		return hl_block_groups_check(p->m, &q);
	}
	if (hl_model_may_have_chains(p->m))
		*reads = "reads every event twice: for the realloc chains, and because single "
			 "blocks are in no sum";
	return hl_block_list_check(p->m, &q);
}

static void fini_blocks(void *data)
{
	struct hl_blocks_result *x = data;

	hl_block_list_fini(&x->list);
	hl_block_groups_fini(&x->groups);
}

const struct hl_view hl_view_blocks = {
	.id = HL_VIEW_ID_blocks,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_DEFAULT_ALL | HL_VIEW_NAMES | HL_VIEW_TOTAL |
		 HL_VIEW_BLOCKS,
	.sorts = HL_SORTS_BLOCKS,
	.sorts_grouped = HL_SORTS_GROUPS,
	.needs = HL_UNKNOWN_ADDRESSES | HL_UNKNOWN_THREADS | HL_UNKNOWN_CALLS | HL_UNKNOWN_TIMES |
		 HL_UNKNOWN_LIFETIMES,
	.data_size = sizeof(struct hl_blocks_result),
	.reads = "reads every event, because single blocks are in no sum",
	.requires = HL_NEEDS_ORDER | HL_NEEDS_EVENTS,
	.check = check_blocks,
	.run = run_blocks,
	.fini = fini_blocks,
};
