/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freed_by_view.c - which sites free the blocks of each site, from record --free-stacks.
 */
#include <stdio.h>
#include <string.h>

#include "model/query/query_plan.h"
#include "request/result.h"

static int run_freed_by(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_freed_by *f = r->data;
	struct hl_query q = hl_plan_query(p, part->quantity);
	size_t len = strlen(r->heading);
	int err = hl_freed_by(f, p->m, &q);

	if (err) {
		*f = (struct hl_freed_by){0};
		return err;
	}
	snprintf(r->heading + len, sizeof(r->heading) - len, ", by freeing site");
	hl_result_set_answer(r, &f->answer);
	return 0;
}

static int check_freed_by(
	const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	struct hl_query q = hl_plan_query_to_check(p, part);

	return hl_freed_by_check(p->m, &q);
}

static void fini_freed_by(void *data)
{
	hl_freed_by_fini(data);
}

const struct hl_view hl_view_freed_by = {
	.id = HL_VIEW_ID_freed_by,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_DEFAULT_ALL | HL_VIEW_NAMES | HL_VIEW_TOTAL |
		 HL_VIEW_BLOCKS,
	.sorts = HL_SORTS_BYTES,
	.min_percent = 0.5,
	.data_size = sizeof(struct hl_freed_by),
	.reads = "reads every event, because the stacks of frees are in no sum",
	.requires = HL_NEEDS_ORDER | HL_NEEDS_EVENTS | HL_NEEDS_FREE_STACKS,
	.check = check_freed_by,
	.run = run_freed_by,
	.fini = fini_freed_by,
};
