/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_view.c - a tree of the frames of all stacks.
 */
#include "request/result.h"

int hl_tree_result_build(
	struct hl_tree_result *x, const struct hl_plan *p, const struct hl_limits *l)
{
	const struct hl_request *r = p->request;
	struct hl_tree_opts opts = {.with_called_functions = r->full_stacks,
		.by_blocks = l->by_blocks,
		.fold = !r->full_stacks,
		.with_sites = r->full_stacks && r->top_down && !r->from_function,
		.from = r->from_function,
		.omit_runtime_frames = !r->full_stacks};
	int err = r->full_stacks ? hl_model_find_called_functions(p->m, &x->answer) : 0;

	if (!r->top_down) {
		opts.inverted = true;
		opts.depth = HL_TREE_DEPTH_MAX;
		opts.min_value = hl_limits_minimum(l, &x->answer.total);
	}
	if (!err)
		err = hl_tree_build(&x->tree, p->m, &x->answer, &opts);
	if (err)
		x->tree = (struct hl_tree){0};
	return err;
}

void hl_tree_result_fini(struct hl_tree_result *x)
{
	hl_tree_fini(&x->tree);
	hl_answer_fini(&x->answer);
}

static int run_tree(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_tree_result *x = r->data;
	struct hl_query q = hl_plan_query(p, part->quantity);
	int err = hl_model_query(p->m, &q, &x->answer);

	if (err)
		return err;
	hl_result_set_answer(r, &x->answer);
	x->by_blocks = r->limits.by_blocks;
	if (r->limits.min_percent > 0)
		x->min_size = hl_limits_minimum(&r->limits, &x->answer.total);
	return hl_tree_result_build(x, p, &r->limits);
}

static void fini_tree(void *data)
{
	hl_tree_result_fini(data);
}

const struct hl_view hl_view_tree = {
	.id = HL_VIEW_ID_tree,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_POOLS | HL_VIEW_NAMES | HL_VIEW_TOTAL | HL_VIEW_BLOCKS,
	.sorts = HL_SORTS_SIZE,
	.min_percent = 0.5,
	.data_size = sizeof(struct hl_tree_result),
	.run = run_tree,
	.fini = fini_tree,
};
