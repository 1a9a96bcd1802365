/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident_view.c - the memory of the whole process by mapping, from record --mmap. Without a
 * quantity it is that at the highest resident memory, which may be far from the peak of the heap.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/query/query_plan.h"
#include "request/result.h"

#define GROUPS_SHOWN 20

static int run_resident(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_resident_result *x = r->data;
	struct hl_time_range all = hl_time_range_all(p->m);
	uint64_t moment = hl_min_u64(hl_time_spec_ns(&r->asked, p->m), all.to_ns);
	int err;

	x->highest = !hl_plan_part_has_quantity(part);
	x->n_points = p->request->columns ? p->request->columns : HL_RESIDENT_POINTS;
	x->points = calloc(x->n_points, sizeof(*x->points));
	if (!x->points)
		return -ENOMEM;
	err = hl_resident_at(&x->resident, p->m, x->highest ? HL_RESIDENT_HIGHEST : moment, &all,
		p->request->mapping.name || p->request->mapping.by_address ? &p->request->mapping
									   : NULL,
		x->points, x->n_points);
	if (err)
		return err;
	if (!x->resident.peak_rss && !x->resident.n_groups && !x->resident.groups_gone)
		hl_notes_put(&p->notes, HL_NOTE_WARNING,
			"no sample has such a mapping: --resident lists them");
	x->moment_ns = x->highest ? x->resident.time_ns : moment;
	hl_result_set_moment(r, x->moment_ns, x->resident.before_damage);
	return 0;
}

static void fini_resident(void *data)
{
	struct hl_resident_result *x = data;

	free(x->points);
	hl_resident_fini(&x->resident);
}

const struct hl_view hl_view_resident = {
	.id = HL_VIEW_ID_resident,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_MOMENT | HL_VIEW_OWN_MOMENT,
	.limit = GROUPS_SHOWN,
	.data_size = sizeof(struct hl_resident_result),
	.reads = "reads the samples of mappings, and no events",
	.requires = HL_NEEDS_MAP_SAMPLES,
	.run = run_resident,
	.fini = fini_resident,
};
