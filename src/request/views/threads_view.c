/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_view.c - allocations and frees by thread, and frees across threads.
 */
#include "model/query/query_plan.h"
#include "request/result.h"

static void prefetch_threads(const struct hl_plan *p, const struct hl_plan_part *part)
{
	hl_threads_prefetch(p->m, p->filter);
}

static int run_threads(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_threads *t = r->data;
	int err = hl_threads_build(t, p->m, p->filter);

	if (err)
		*t = (struct hl_threads){0};
	for (uint32_t i = 0; i < t->n && !err; i++)
		hl_value_add(&r->total, &t->rows[i].allocated);
	return err;
}

static void fini_threads(void *data)
{
	hl_threads_fini(data);
}

const struct hl_view hl_view_threads = {
	.id = HL_VIEW_ID_threads,
	.flags = HL_VIEW_TOTAL | HL_VIEW_BLOCKS,
	.sorts = HL_SORTS_SIZE,
	.needs = HL_UNKNOWN_THREADS,
	.data_size = sizeof(struct hl_threads),
	.reads = "reads every event, because frees across threads are in no sum",
	.requires = HL_NEEDS_ORDER | HL_NEEDS_EVENTS,
	.prefetch = prefetch_threads,
	.run = run_threads,
	.fini = fini_threads,
};
