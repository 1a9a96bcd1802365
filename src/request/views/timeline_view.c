/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_view.c - live bytes over time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/query/query_plan.h"
#include "request/result.h"

static size_t count_columns(const struct hl_plan *p)
{
	return p->request->columns ? p->request->columns : HL_REQUEST_COLUMNS;
}

static void prefetch_timeline(const struct hl_plan *p, const struct hl_plan_part *part)
{
	hl_timeline_prefetch(p->m, p->filter, count_columns(p));
}

static int run_timeline(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_timeline_result *x = r->data;
	int err;

	snprintf(r->heading, sizeof(r->heading), "live bytes%s",
		p->filter ? " that match the filter" : "");
	x->n = count_columns(p);
	x->columns = calloc(x->n, sizeof(*x->columns));
	err = x->columns ? hl_timeline(p->m, p->filter, x->columns, x->n, &x->peak) : -ENOMEM;
	/* If another view has searched for the same peak, the note exists already. */
	if (!err && p->peak.kind == HL_TIME_SPEC_PEAK)
		hl_plan_note_moved_peak(p, &x->peak);
	r->before_damage = x->peak.before_damage;
	return err;
}

static void fini_timeline(void *data)
{
	free(((struct hl_timeline_result *)data)->columns);
}

const struct hl_view hl_view_timeline = {
	.id = HL_VIEW_ID_timeline,
	.flags = HL_VIEW_BLOCKS,
	.data_size = sizeof(struct hl_timeline_result),
	.reads = "reads the headers of all chunks, and the events of chunks that span several "
		 "columns",
	.reads_filtered =
		"reads every event, because no sum is about the blocks that match the filter",
	.requires = HL_NEEDS_ORDER,
	.prefetch = prefetch_timeline,
	.run = run_timeline,
	.fini = fini_timeline,
};
