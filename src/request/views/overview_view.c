/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_view.c - the most important facts of a trace.
 */
#include "model/query/suppress.h"
#include "request/result.h"

#define ROWS_SHOWN 5

static int run_overview(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_overview_result *x = r->data;
	const struct hl_request *req = p->request;
	struct hl_overview_options options = {.filter = p->filter,
		.columns = req->columns ? req->columns : HL_REQUEST_COLUMNS,
		.rows = req->limit_given ? req->limit : ROWS_SHOWN,
		.events_max = req->budget.max_ns ? 0 : HL_OVERVIEW_EVENTS_MAX};
	int err = hl_request_make_suppressions(req, &x->suppressions);

	options.suppressions = x->suppressions;
	if (!err)
		err = hl_overview(&x->overview, p->m, &options);
	r->before_damage = x->overview.before_damage;
	if (x->overview.sites_state == HL_OVERVIEW_LEFT_OUT)
		r->late = "the lists of sites";
	return err;
}

static int check_overview(
	const struct hl_plan *p, const struct hl_plan_part *part, const char **reads)
{
	return hl_model_check_base(p->m);
}

static void fini_overview(void *data)
{
	struct hl_overview_result *x = data;

	hl_overview_fini(&x->overview);
	hl_suppressions_free(x->suppressions);
}

const struct hl_view hl_view_overview = {
	.id = HL_VIEW_ID_overview,
	.flags = HL_VIEW_BLOCKS | HL_VIEW_NAMES,
	.data_size = sizeof(struct hl_overview_result),
	.reads = "reads keyframes, summaries and the headers of all chunks; and every event for "
		 "short-lived blocks and pages, unless the trace has more than 150,000,000",
	.reads_filtered = "reads every event, because no sum is about the blocks that match the "
			  "filter",
	.check = check_overview,
	.run = run_overview,
	.fini = fini_overview,
};
