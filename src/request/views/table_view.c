/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_view.c - flat tables: by a group, by size, by lifetime, and sites with their statistics.
 */
#include <errno.h>
#include <stdlib.h>

#include "model/query/query_plan.h"
#include "request/result.h"
#include "util/work/work.h"

static struct hl_query table_query(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = hl_plan_query(p, part->quantity);

	q.key = hl_group_key(part->group);
	return q;
}

static void prefetch_table(const struct hl_plan *p, const struct hl_plan_part *part)
{
	struct hl_query q = table_query(p, part);

	hl_query_prefetch(p->m, &q);
}

int hl_table_result_build(
	struct hl_table_result *x, const struct hl_plan *p, enum hl_group g, struct hl_limits *l)
{
	const struct hl_request *req = p->request;
	int err = hl_table_build(&x->table, p->m, &x->answer, g, !req->full_stacks);

	if (!err && req->sorted)
		hl_table_sort(&x->table, req->sort);
	l->keep_order = hl_group_is_ordered(x->table.group) && !req->sorted;
	return err;
}

void hl_table_result_fini(struct hl_table_result *x)
{
	free(x->stats);
	hl_table_fini(&x->table);
	hl_answer_fini(&x->answer);
}

static int run_table(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_table_result *x = r->data;
	struct hl_query q = table_query(p, part);
	int err = hl_model_query(p->m, &q, &x->answer);

	if (err)
		return err;
	hl_result_set_answer(r, &x->answer);
	return hl_table_result_build(x, p, part->group, &r->limits);
}

/* The list of sites without their statistics is an answer, too. Returns err, or 0. */
static int omit_stats(struct hl_plan *p, struct hl_result *r, int err)
{
	struct hl_table_result *x = r->data;
	struct hl_work *w = hl_model_work(p->m);

	if (w->stopped != -ETIME)
		return err;
	hl_work_resume(w);
	free(x->stats);
	x->stats = NULL;
	x->n_stats = 0;
	r->late = "lifetimes and trends of the sites";
	hl_notes_put(&p->notes, HL_NOTE_WARNING,
		"%s need every event, which takes longer than --max-time: they are left out",
		r->late);
	return 0;
}

static int run_sites(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	struct hl_table_result *x = r->data;
	int err = run_table(p, part, r);

	if (err)
		return err;
	x->n_stats = hl_limits_table_rows(&r->limits, &x->table);
	err = hl_sites_stats(p->m, &x->table, x->n_stats, p->filter, &x->stats);
	err = omit_stats(p, r, err);
	if (!err && !x->stats && !r->late)
		hl_notes_put(&p->notes, HL_NOTE_WARNING,
			"no lifetimes: this trace was recorded in mode %s, which keeps only sums "
			"of some blocks (bytes and blocks are exact)",
			hl_model_sums_mode(p->m));
	return err;
}

static void fini_table(void *data)
{
	hl_table_result_fini(data);
}

#define TABLE(view, more, run_)                                                      \
	const struct hl_view hl_view_##view = {                                      \
		.id = HL_VIEW_ID_##view,                                             \
		.flags = HL_VIEW_QUANTITY | HL_VIEW_TOTAL | HL_VIEW_BLOCKS | (more), \
		.sorts = HL_SORTS_ALL,                                               \
		.min_percent = 0.5,                                                  \
		.data_size = sizeof(struct hl_table_result),                         \
		.prefetch = prefetch_table,                                          \
		.run = run_,                                                         \
		.fini = fini_table,                                                  \
	}

TABLE(table, HL_VIEW_POOLS | HL_VIEW_NAMES, run_table);
TABLE(sizes, HL_VIEW_POOLS | HL_VIEW_DEFAULT_ALL, run_table);
TABLE(lifetimes, HL_VIEW_POOLS | HL_VIEW_DEFAULT_ALL, run_table);

const struct hl_view hl_view_sites = {
	.id = HL_VIEW_ID_sites,
	.flags = HL_VIEW_QUANTITY | HL_VIEW_TOTAL | HL_VIEW_BLOCKS | HL_VIEW_NAMES | HL_VIEW_EARLY,
	.sorts = HL_SORTS_ALL,
	.needs = HL_UNKNOWN_LIFETIMES,
	.min_percent = 0.5,
	.data_size = sizeof(struct hl_table_result),
	.requires = HL_NEEDS_ORDER,
	.prefetch = prefetch_table,
	.run = run_sites,
	.fini = fini_table,
};
