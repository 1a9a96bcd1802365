/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragmentation_view.c - how full the heap's pages are at a moment.
 */
#include "model/query/query_plan.h"
#include "request/result.h"

#define HOLDERS_SHOWN 20

static void prefetch_fragmentation(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = hl_plan_query(p, part->quantity);

	hl_fragmentation_prefetch(p->m, &q.to, p->filter);
}

static int run_fragmentation(
	struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_fragmentation *f = r->data;
	int err = hl_fragmentation_at(f, p->m, &r->asked, p->filter);

	if (err) {
		*f = (struct hl_fragmentation){0};
		return err;
	}
	hl_result_set_moment(r, f->time_ns, f->before_damage);
	r->total = f->live;
	return 0;
}

static void fini_fragmentation(void *data)
{
	hl_fragmentation_fini(data);
}

const struct hl_view hl_view_fragmentation = {
	.id = HL_VIEW_ID_fragmentation,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_MOMENT | HL_VIEW_NAMES | HL_VIEW_TOTAL |
		 HL_VIEW_BLOCKS | HL_VIEW_ALL_LIVE,
	.refuses = HL_UNKNOWN_ADDRESSES,
	.limit = HOLDERS_SHOWN,
	.data_size = sizeof(struct hl_fragmentation),
	.reads = "reads the events up to the moment, because the addresses of live blocks are in "
		 "no sum",
	.requires = HL_NEEDS_EVENTS,
	.prefetch = prefetch_fragmentation,
	.run = run_fragmentation,
	.fini = fini_fragmentation,
};
