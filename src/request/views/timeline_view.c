/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_view.c - live bytes over time, of the run or of the requested range.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/query/query_plan.h"
#include "request/result.h"

static size_t count_columns(const struct hl_plan *p)
{
	return p->request->columns ? p->request->columns : HL_REQUEST_COLUMNS;
}

struct hl_time_range hl_plan_time_range(const struct hl_plan *p)
{
	const struct hl_request *r = p->request;
	struct hl_time_range range = hl_time_range_all(p->m);

	if (r->ranged) {
		range.from_ns = hl_time_spec_ns(&r->from, p->m);
		range.to_ns = hl_min_u64(hl_time_spec_ns(&r->to, p->m), range.to_ns);
	}
	/* Only if the trace does not have the range, which is refused before. */
	range.from_ns = hl_min_u64(range.from_ns, range.to_ns);
	return range;
}

struct hl_time_range hl_known_range(const struct hl_model *m, const struct hl_time_range *r)
{
	uint64_t from = hl_max_u64(r->from_ns, hl_model_base(m)->time_ns);

	return (struct hl_time_range){hl_min_u64(from, r->to_ns), r->to_ns};
}

static void prefetch_timeline(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_time_range range = hl_plan_time_range(p);

	hl_timeline_range_prefetch(p->m, p->filter, &range, count_columns(p));
}

static enum hl_range_phase phase_of(const struct hl_time_range *r, uint64_t ns)
{
	return ns < r->from_ns ? HL_RANGE_BEFORE : ns > r->to_ns ? HL_RANGE_AFTER : HL_RANGE_IN;
}

/* Marks are in the order of time. */
static int find_marks(struct hl_model *m, struct hl_timeline_result *x)
{
	const struct hl_mark *all;
	size_t n, n_phase[3] = {0};
	int err = hl_model_marks(m, &all, &n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		n_phase[phase_of(&x->range, all[i].time_ns)]++;
	x->marks = n ? all + n_phase[HL_RANGE_BEFORE] : NULL;
	x->n_marks = n_phase[HL_RANGE_IN];
	x->marks_before = n_phase[HL_RANGE_BEFORE];
	x->marks_after = n_phase[HL_RANGE_AFTER];
	return 0;
}

static int run_timeline(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_timeline_result *x = r->data;
	int err;

	snprintf(r->heading, sizeof(r->heading), "live bytes%s",
		p->filter ? " that match the filter" : "");
	x->range = hl_plan_time_range(p);
	x->known = hl_known_range(p->m, &x->range);
	x->is_part = x->range.from_ns > 0 || x->range.to_ns < hl_model_end_ns(p->m);
	x->n = count_columns(p);
	x->columns = calloc(x->n, sizeof(*x->columns));
	err = x->columns ? hl_timeline_range(p->m, p->filter, &x->range, x->columns, x->n, &x->peak)
			 : -ENOMEM;
	if (!err)
		err = find_marks(p->m, x);
	if (err)
		return err;
	x->peak_phase =
		x->peak.before_base ? HL_RANGE_BEFORE : phase_of(&x->known, x->peak.time_ns);
	if (p->request->ranged)
		hl_plan_note_moved(p, &p->request->to, x->range.to_ns, false);
	/* If another view has searched for the same peak, the note exists already. */
	if (p->peak.kind == HL_TIME_SPEC_PEAK)
		hl_plan_note_moved_peak(p, &x->peak);
	r->before_damage = x->peak.before_damage;
	return 0;
}

/* Without a filter it has the peak of the run. */
static int check_timeline(
	const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	const struct hl_time_spec end = {.kind = HL_TIME_SPEC_END};

	return p->filter ? hl_time_spec_check_blocks(&end, p->m) : hl_model_check_base(p->m);
}

static void fini_timeline(void *data)
{
	free(((struct hl_timeline_result *)data)->columns);
}

const struct hl_view hl_view_timeline = {
	.id = HL_VIEW_ID_timeline,
	.flags = HL_VIEW_BLOCKS | HL_VIEW_RANGE,
	.data_size = sizeof(struct hl_timeline_result),
	.reads = "reads the headers of all chunks, and the events of chunks that span several "
		 "columns",
	.reads_filtered =
		"reads every event, because no sum is about the blocks that match the filter",
	.requires = HL_NEEDS_ORDER,
	.check = check_timeline,
	.prefetch = prefetch_timeline,
	.run = run_timeline,
	.fini = fini_timeline,
};
