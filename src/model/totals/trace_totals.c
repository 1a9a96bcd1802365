/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_totals.c - the totals and properties of a whole trace.
 */
#include "model/totals/trace_totals.h"

#include <string.h>

#include "base/attr.h"
#include "model/query/query.h"

const char *hl_end_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[HL_END_EXIT] = "exit",
		[HL_END_SIGNAL] = "signal",
		[HL_END_EXEC] = "exec",
		[HL_END_STOPPED] = "stopped",
		[HL_END_LOST] = "lost",
		[HL_END_CONTINUED] = "continued",
		[HL_END_RUNNING] = "running",
	};

	return kind < HL_ARRAY_LEN(names) ? names[kind] : "lost";
}

/* An imported trace may not have the information for a total. */
static bool is_known(const struct hl_model *m, const struct hl_trace_total *r)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;
	static const struct {
		const char *key;
		uint32_t needs;
	} rows[] = {
		{"allocations", HL_UNKNOWN_COUNTS},
		{"frees", HL_UNKNOWN_COUNTS},
		{"live_blocks_end", HL_UNKNOWN_COUNTS},
		{"peak_bytes", HL_UNKNOWN_ORDER},
		{"peak_blocks", HL_UNKNOWN_ORDER | HL_UNKNOWN_COUNTS},
		{"peak_time_ns", HL_UNKNOWN_ORDER},
		{"threads", HL_UNKNOWN_THREADS},
	};

	if (hl_model_info(m)->base_lost)
		return false;
	for (size_t i = 0; i < HL_ARRAY_LEN(rows) && meta->unknown; i++)
		if (meta->unknown & rows[i].needs && !strcmp(rows[i].key, r->key))
			return false;
	return strcmp(r->key, "temporary") != 0 || hl_model_has_adjacency(m);
}

void hl_trace_totals(const struct hl_model *m, struct hl_trace_total rows[HL_TRACE_TOTALS])
{
	const struct hl_trace_info *i = hl_model_info(m);
	const struct hl_totals *t = &i->totals;
	const struct hl_counters *c = &i->counters;
	const struct hl_trace_total r[HL_TRACE_TOTALS] = {
		{"allocations", "allocations", t->sums.alloc_blocks, HL_TOTAL_COUNT, true},
		{"bytes_allocated", "bytes allocated", t->sums.alloc_bytes, HL_TOTAL_BYTES, true},
		{"frees", "frees", t->sums.free_blocks - t->implicit_frees, HL_TOTAL_COUNT, true},
		{"bytes_freed", "bytes freed", t->sums.free_bytes - t->implicit_bytes,
			HL_TOTAL_BYTES, true},
		{"live_blocks_end", "live blocks at end", hl_sums_live_blocks(&t->sums),
			HL_TOTAL_COUNT, true},
		{"live_bytes_end", "live bytes at end", hl_sums_live_bytes(&t->sums),
			HL_TOTAL_BYTES, true},
		{"peak_bytes", "peak bytes", t->peak_bytes, HL_TOTAL_BYTES, true},
		{"peak_blocks", "peak blocks", t->peak_blocks, HL_TOTAL_COUNT, true},
		{"peak_time_ns", "time of the peak", t->peak_time_ns, HL_TOTAL_TIME, true},
		{"temporary", "temporary", t->temporary, HL_TOTAL_COUNT, true},
		{"unknown_frees", "unknown frees", c->unknown_frees, HL_TOTAL_COUNT, true},
		{"implicit_frees", "implicit frees", c->implicit_frees, HL_TOTAL_COUNT, true},
		{"inherited_frees", "inherited frees", c->inherited_frees, HL_TOTAL_COUNT, true},
		{"unrecorded_frees", "unrecorded frees", c->unrecorded_frees, HL_TOTAL_COUNT, true},
		{"late_events", "late events", c->late_events, HL_TOTAL_COUNT, true},
		{"dropped_events", "dropped events", c->dropped_events, HL_TOTAL_COUNT, true},
		{"threads", "threads", i->threads, HL_TOTAL_COUNT, true},
		{"stacks", "stacks", t->stacks, HL_TOTAL_COUNT, true},
		{"withheld_blocks", "blocks in sums only", i->aggregated.alloc_blocks,
			HL_TOTAL_COUNT, true},
		{"withheld_bytes", "bytes in sums only", i->aggregated.alloc_bytes, HL_TOTAL_BYTES,
			true},
		{"early_blocks", "blocks written early", c->early_blocks, HL_TOTAL_COUNT, true},
	};

	memcpy(rows, r, sizeof(r));
	for (size_t k = 0; k < HL_TRACE_TOTALS; k++)
		rows[k].known = is_known(m, &rows[k]);
}

bool hl_trace_margins(struct hl_model *m, uint64_t *allocated, uint64_t *live)
{
	struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED, .to.kind = HL_TIME_SPEC_END};
	struct hl_answer a;

	*allocated = *live = 0;
	if (!hl_model_has_estimates(m))
		return hl_model_has_samples(m);
	if (hl_model_has_aggregated(m))
		return true; /* aggregated blocks are exact; the error of the rest is unknown */
	if (hl_model_query(m, &q, &a) == 0) {
		*allocated = hl_value_margin(&a.total);
		hl_answer_fini(&a);
	}
	q.quantity = HL_QUANTITY_LIVE;
	if (hl_model_query(m, &q, &a) == 0) {
		*live = hl_value_margin(&a.total);
		hl_answer_fini(&a);
	}
	return true;
}

bool hl_trace_margins_are_known(const struct hl_model *m)
{
	return hl_model_info(m)->totals.sums.alloc_blocks && !hl_model_has_aggregated(m);
}

bool hl_trace_mode_changes(struct hl_model *m, const struct hl_mode_change **modes, size_t *n)
{
	const struct hl_trace_info *i = hl_model_info(m);

	/* If the trace has an end, that says whether there are changes; without changes no chunk is
	 * decoded. */
	if (i->has_end && !i->mode_changes && !i->stops && !i->meta.started_off)
		return false;
	return hl_model_modes(m, modes, n) == 0 && *n > 0;
}
