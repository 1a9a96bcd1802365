/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregated.c - see aggregated.h.
 */
#include "model/query/query_plan.h"
#include "model/scan/aggregated.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"

int hl_aggregated_check(struct hl_model *m, const struct hl_query *q)
{
	bool all = q->quantity == HL_QUANTITY_ALLOCATED && q->from.kind == HL_TIME_SPEC_NS &&
		   q->from.ns == 0 && q->to.kind == HL_TIME_SPEC_END;
	bool end = q->quantity == HL_QUANTITY_LIVE && q->to.kind == HL_TIME_SPEC_END;

	if ((all || end) && q->key == HL_KEY_STACK && hl_query_sums_suffice(m, q))
		return 0;
	return hl_model_require(m, HL_NEEDS_EVENTS, "this");
}

/* Runs the query and copies its values into one member of each row, the one at offset `at`. */
static int query_values(
	struct hl_aggregated *r, struct hl_model *m, const struct hl_query *q, size_t at)
{
	struct hl_answer a;
	int err = hl_model_query(m, q, &a);

	for (uint32_t i = 0; i <= r->n_nodes && !err; i++)
		*(struct hl_value *)((char *)&r->all[i] + at) = a.values[i];
	if (!err)
		hl_answer_fini(&a);
	return err;
}

/* Blocks that are live at the end: their bytes are highest at the end. */
static void copy_live_values(struct hl_aggregated *r, struct hl_model *m)
{
	for (uint32_t i = 0; i <= r->n_nodes; i++)
		r->all[i].live_at_end = r->all[i].at_peak = r->all[i].allocated;
	r->peak_ns = hl_model_end_ns(m);
}

int hl_aggregated_begin(struct hl_aggregated *r, struct hl_model *m, const struct hl_query *q)
{
	struct hl_query left = {.filter = q->filter, .to = {.kind = HL_TIME_SPEC_END}};
	struct hl_query peak = {.filter = q->filter, .to = {.kind = HL_TIME_SPEC_PEAK}};
	int err;

	*r = (struct hl_aggregated){.n_nodes = m->n_nodes, .peak_ns = m->info->totals.peak_time_ns};
	r->all = calloc((size_t)r->n_nodes + 1, sizeof(*r->all));
	r->in_events = calloc((size_t)r->n_nodes + 1, sizeof(*r->in_events));
	if (!r->all || !r->in_events)
		return hl_model_fail(m, -ENOMEM);
	err = query_values(r, m, q, offsetof(struct hl_aggregated_row, allocated));
	if (!err && q->quantity == HL_QUANTITY_LIVE) {
		copy_live_values(r, m);
		return 0;
	}
	if (!err)
		err = query_values(r, m, &left, offsetof(struct hl_aggregated_row, live_at_end));
	return err ? err : query_values(r, m, &peak, offsetof(struct hl_aggregated_row, at_peak));
}

void hl_aggregated_restart(struct hl_aggregated *r)
{
	memset(r->in_events, 0, ((size_t)r->n_nodes + 1) * sizeof(*r->in_events));
	free(r->rows);
	r->rows = NULL;
	r->n = 0;
	r->allocated = r->left = (struct hl_value){0};
}

static void add_sums(struct hl_value *v, const struct hl_event *e)
{
	v->bytes += e->bytes;
	v->blocks += e->blocks;
}

void hl_aggregated_add_event(struct hl_aggregated *r, const struct hl_event *e)
{
	struct hl_aggregated_row *k = &r->in_events[hl_min_u32(e->node, r->n_nodes)];

	if (e->op == HL_OP_ALLOC) {
		add_sums(&k->allocated, e);
		add_sums(&k->live_at_end, e);
	} else {
		k->live_at_end.bytes -= e->bytes;
		k->live_at_end.blocks -= e->blocks;
	}
	if (e->time_ns <= r->peak_ns)
		k->at_peak = k->live_at_end;
}

/* Several events may have the time of the peak, so `in_events` may exceed `all`: the difference is
 * at least 0. */
static struct hl_value subtract(const struct hl_value *all, const struct hl_value *in_events)
{
	return (struct hl_value){.bytes = all->bytes - hl_min_u64(all->bytes, in_events->bytes),
		.blocks = all->blocks - hl_min_u64(all->blocks, in_events->blocks)};
}

int hl_aggregated_end(struct hl_aggregated *r)
{
	r->rows = calloc((size_t)r->n_nodes + 1, sizeof(*r->rows));
	if (!r->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i <= r->n_nodes; i++) {
		const struct hl_aggregated_row *all = &r->all[i], *in_events = &r->in_events[i];
		struct hl_aggregated_row row = {.node = i < r->n_nodes ? i : HL_NODE_NONE,
			.allocated = subtract(&all->allocated, &in_events->allocated),
			.live_at_end = subtract(&all->live_at_end, &in_events->live_at_end),
			.at_peak = subtract(&all->at_peak, &in_events->at_peak)};

		if (row.allocated.blocks == 0)
			continue;
		r->rows[r->n++] = row;
		hl_value_add(&r->allocated, &row.allocated);
		hl_value_add(&r->left, &row.live_at_end);
	}
	return 0;
}

void hl_aggregated_fini(struct hl_aggregated *r)
{
	free(r->rows);
	free(r->all);
	free(r->in_events);
	memset(r, 0, sizeof(*r));
}

int hl_aggregated_frame(struct hl_model *m, uint32_t *frame)
{
	static const char name[] = "[in sums only: lifetimes are not known]";

	return hl_model_group_frame(m, name, name, frame);
}
