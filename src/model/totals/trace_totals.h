/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_totals.h - the totals of a trace, in the order in which `info` shows them, and other
 * properties of the whole trace that several views show.
 */
#ifndef HL_MODEL_TOTALS_TRACE_TOTALS_H
#define HL_MODEL_TOTALS_TRACE_TOTALS_H

#include "model/model.h"
#include "model/views/marks.h"

struct hl_trace_total {
	const char *key;   /* the name in JSON */
	const char *label; /* the name for people */
	uint64_t value;
	enum { HL_TOTAL_COUNT, HL_TOTAL_BYTES, HL_TOTAL_TIME } unit;
	bool known; /* false: an imported or sampled trace does not have it */
};

#define HL_TRACE_TOTALS            21
#define HL_TRACE_TOTALS_AGGREGATED 3 /* the last rows, about aggregated blocks */
void hl_trace_totals(const struct hl_model *m, struct hl_trace_total rows[HL_TRACE_TOTALS]);

/* How the recording ended, as one word: "exit", "signal". */
const char *hl_end_kind_name(unsigned kind);

/* The margins of all allocated bytes and of the live bytes at the end. Returns false if these are
 * exact. */
bool hl_trace_margins(struct hl_model *m, uint64_t *allocated, uint64_t *live);
bool hl_trace_margins_are_known(const struct hl_model *m);

/* The changes of the mode. Returns false if there is none. */
bool hl_trace_mode_changes(struct hl_model *m, const struct hl_mode_change **modes, size_t *n);

#endif
