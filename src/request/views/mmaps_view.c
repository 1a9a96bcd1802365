/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmaps_view.c - the mappings that the program made itself, from record --mmap.
 */
#include "model/query/query_plan.h"
#include "request/result.h"

#define MMAPS_SHOWN 20

static int run_mmaps(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_mmaps_result *x = r->data;
	int err;

	x->all.filter = p->filter;
	if (p->request->unlimited)
		return 0; /* the renderer runs it: a program may have millions of mappings */
	err = hl_mappings_largest(p->m, p->filter, r->limits.limit, &x->list);
	if (err)
		x->list = (struct hl_mapping_list){0};
	r->before_damage = x->list.sums.before_damage;
	return err;
}

static int check_mmaps(const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	return hl_mappings_check(p->m, p->filter);
}

static void fini_mmaps(void *data)
{
	hl_mapping_list_fini(&((struct hl_mmaps_result *)data)->list);
}

const struct hl_view hl_view_mmaps = {
	.id = HL_VIEW_ID_mmaps,
	.flags = HL_VIEW_NAMES,
	.sorts = HL_SORTS_BYTES,
	.limit = MMAPS_SHOWN,
	.data_size = sizeof(struct hl_mmaps_result),
	.reads = "reads the mappings among the events of all chunks",
	.requires = HL_NEEDS_MMAPS,
	.check = check_mmaps,
	.run = run_mmaps,
	.fini = fini_mmaps,
};
