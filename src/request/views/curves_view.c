/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves_view.c - live bytes over time of each row of a flat table: a timeline by a group.
 */
#include <stdio.h>

#include "base/bits.h"
#include "model/query/query_plan.h"
#include "request/result.h"

/* Without a limit of the request: as many rows as a chart can distinguish. */
#define ROWS 20

static struct hl_group_curves_request make_request(
	const struct hl_plan *p, const struct hl_plan_part *part)
{
	const struct hl_request *r = p->request;
	/* The same with each width of the output: the highest value is that of the moments. */
	size_t points = r->unlimited && r->columns ? r->columns : HL_REQUEST_COLUMNS;

	return (struct hl_group_curves_request){.group = part->group,
		.filter = p->filter,
		.range = hl_plan_time_range(p),
		.folds = !r->full_stacks,
		.points = hl_min_u64(points, HL_GROUP_CURVES_POINTS_MAX),
		.limit = r->limit_given ? r->limit : ROWS};
}

static int find_marks(struct hl_model *m, struct hl_curves_result *x)
{
	const struct hl_time_range *r = &x->curves.range;
	const struct hl_mark *all;
	size_t n, first = 0;
	int err = hl_model_marks(m, &all, &n);

	if (err)
		return err;
	while (first < n && all[first].time_ns < r->from_ns)
		first++;
	x->marks = n ? all + first : NULL;
	while (first + x->n_marks < n && all[first + x->n_marks].time_ns <= r->to_ns)
		x->n_marks++;
	return 0;
}

static int run_curves(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_group_curves_request request = make_request(p, part);
	struct hl_curves_result *x = r->data;
	int err = hl_group_curves_read(&x->curves, p->m, &request);

	snprintf(r->heading, sizeof(r->heading), "live bytes by %s", hl_group_name(part->group));
	if (!err)
		err = find_marks(p->m, x);
	if (err)
		return err;
	x->known = hl_known_range(p->m, &x->curves.range);
	x->is_part = x->curves.range.from_ns > 0 || x->curves.range.to_ns < hl_model_end_ns(p->m);
	x->estimated = hl_model_has_samples(p->m);
	if (p->request->ranged)
		hl_plan_note_moved(p, &p->request->to, x->curves.range.to_ns, false);
	r->before_damage = x->curves.before_damage;
	return 0;
}

static int check_curves(
	const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	struct hl_group_curves_request request = make_request(p, part);
	struct hl_query q = hl_group_curves_query(&request);
	struct hl_query_plan plan;
	int err = hl_query_bind(&q, p->m);

	if (!err)
		err = hl_query_plan(p->m, &q, &plan);
	if (err)
		return err;
	if (plan.method == HL_METHOD_KEY_SUMS)
		*reads = "reads the summaries of all chunks";
	else if (plan.method == HL_METHOD_EVENTS)
		*reads = "reads every event";
	return 0;
}

static void fini_curves(void *data)
{
	hl_group_curves_fini(&((struct hl_curves_result *)data)->curves);
}

const struct hl_view hl_view_curves = {
	.id = HL_VIEW_ID_curves,
	.flags = HL_VIEW_BLOCKS | HL_VIEW_RANGE | HL_VIEW_NAMES,
	.min_percent = 0.5,
	.data_size = sizeof(struct hl_curves_result),
	.reads = "reads keyframes, and the summaries between them",
	.requires = HL_NEEDS_ORDER,
	.check = check_curves,
	.run = run_curves,
	.fini = fini_curves,
};
