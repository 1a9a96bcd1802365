/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_view.c - the total of a process.
 */
#include "request/result.h"

static int run_process(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_process_result *x = r->data;
	struct hl_query q = hl_plan_query(p, part->quantity);
	int err = hl_model_query(p->m, &q, &x->answer);

	if (!err)
		hl_result_set_answer(r, &x->answer);
	return err;
}

static void fini_process(void *data)
{
	hl_answer_fini(&((struct hl_process_result *)data)->answer);
}

const struct hl_view hl_view_process = {
	.id = HL_VIEW_ID_process,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_TOTAL | HL_VIEW_BLOCKS,
	.sorts = HL_SORTS_SIZE,
	.data_size = sizeof(struct hl_process_result),
	.run = run_process,
	.fini = fini_process,
};
