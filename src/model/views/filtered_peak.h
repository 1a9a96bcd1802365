/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filtered_peak.h - live bytes, after every event, of the blocks that a filter selects: the maximum
 * of each column of a range and the maximum of the run.
 *
 * A realloc is one step. Of equal maxima the earliest counts.
 */
#ifndef HL_MODEL_VIEWS_FILTERED_PEAK_H
#define HL_MODEL_VIEWS_FILTERED_PEAK_H

#include "model/views/live_timeline.h"

/* The maximum. when: the position right after its event, for queries. */
struct hl_peak {
	uint64_t bytes, blocks, time_ns;
	struct hl_time_spec when;
	bool before_damage; /* a part of the file is damaged: this is the maximum before it */
	bool before_base;   /* of the heap: it is not in a trace that begins late */
};

/*
 * Fills n columns of the range (n may be 0, and the range NULL) and *peak, of the whole run, for
 * the blocks that fit the filter, which is bound here. Decodes every chunk or, for filters on
 * stacks alone, only the chunks whose summaries do not exclude a maximum. Memory: one bit per
 * allocation. Returns 0 or -errno with hl_model_error(); -ENODATA: the trace has aggregated blocks.
 */
int hl_filtered_peak(struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r,
	struct hl_timeline_bin *columns, size_t n, struct hl_peak *peak);
/* Announces this query, see prefetch.h. */
void hl_filtered_peak_prefetch(
	struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r, size_t n);
/*
 * Finds the moment of --peak: the maximum of the blocks that fit the filter, or of the heap without
 * a filter. For blocks of pools it is the heap's peak, with any filter.
 */
int hl_peak_find(struct hl_model *m, const struct hl_query *q, struct hl_peak *peak);

#endif
