/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_space_view.c - the mappings of the process with the heap's blocks in each, at a moment.
 */
#include "model/query/query_plan.h"
#include "request/result.h"

#define ROWS_SHOWN 20

static int run_address_space(
	struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_address_space *s = r->data;
	int err = hl_address_space_at(s, p->m, &r->asked, p->filter);

	if (err)
		return err;
	hl_result_set_moment(r, s->time_ns, s->before_damage);
	r->total = s->live;
	return 0;
}

static void fini_address_space(void *data)
{
	hl_address_space_fini(data);
}

const struct hl_view hl_view_address_space = {
	.id = HL_VIEW_ID_address_space,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_MOMENT | HL_VIEW_TOTAL | HL_VIEW_BLOCKS |
		 HL_VIEW_ALL_LIVE,
	.refuses = HL_UNKNOWN_ADDRESSES,
	.limit = ROWS_SHOWN,
	.data_size = sizeof(struct hl_address_space),
	.reads = "reads the samples of mappings, and the events up to the moment, because the "
		 "addresses of live blocks are in no sum",
	.requires = HL_NEEDS_EVENTS,
	.run = run_address_space,
	.fini = fini_address_space,
};
