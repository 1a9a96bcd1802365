/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_commands.c - which of the commands that an overview names the trace can answer. A
 * command that would be refused is not shown.
 */
#include "model/model_internal.h"
#include "model/overview/overview_internal.h"
#include "model/overview/verdicts.h"
#include "model/query/query_plan.h"

static bool can_answer(struct hl_model *m, const struct hl_query *q)
{
	struct hl_query_plan plan;

	return !hl_query_bind(q, m) && !hl_query_plan(m, q, &plan);
}

static bool can_show_live(struct hl_model *m, enum hl_time_spec_kind kind)
{
	return can_answer(m, &(struct hl_query){.quantity = HL_QUANTITY_LIVE, .to.kind = kind});
}

static bool can_show_verdict(struct hl_model *m, const struct hl_overview_verdict *v)
{
	struct hl_query q = {.to.kind = HL_TIME_SPEC_END};

	switch (v->kind) {
	case HL_VERDICT_GROWING:
		q.quantity = HL_QUANTITY_GROWTH;
		q.from.kind = q.to.kind = HL_TIME_SPEC_PERCENT;
		q.from.percent = hl_verdict_percent(v->from_k);
		q.to.percent = hl_verdict_percent(v->to_k);
		return can_answer(m, &q);
	case HL_VERDICT_SHORT_LIVED:
		q.quantity = HL_QUANTITY_TEMPORARY;
		q.temporary_ns = v->bound_ns;
		return can_answer(m, &q);
	case HL_VERDICT_ALLOCATED:
		q.quantity = HL_QUANTITY_ALLOCATED;
		return can_answer(m, &q);
	default:
		return true; /* its numbers are those of the view */
	}
}

static enum hl_overview_command find_command(
	struct hl_model *m, const struct hl_overview *o, const struct hl_overview_verdict *v)
{
	if (can_show_verdict(m, v))
		return HL_COMMAND_DIRECT;
	if (v->kind == HL_VERDICT_SHORT_LIVED && o->can_show_sites)
		return HL_COMMAND_ALLOCATED;
	return HL_COMMAND_NONE;
}

void hl_overview_find_commands(struct hl_overview_builder *b)
{
	struct hl_overview *o = b->o;

	o->can_show_peak = can_show_live(b->m, HL_TIME_SPEC_PEAK);
	o->can_show_leaks = can_show_live(b->m, HL_TIME_SPEC_END);
	o->can_show_sites = can_answer(b->m,
		&(struct hl_query){.quantity = HL_QUANTITY_ALLOCATED, .to.kind = HL_TIME_SPEC_END});
	for (size_t i = 0; i < o->n_verdicts; i++)
		o->verdicts[i].command = find_command(b->m, o, &o->verdicts[i]);
}
