/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_timeline.h - live bytes over the run, in columns.
 */
#ifndef HL_MODEL_VIEWS_LIVE_TIMELINE_H
#define HL_MODEL_VIEWS_LIVE_TIMELINE_H

#include "model/query/query.h"

struct hl_timeline_bin {
	uint64_t max_bytes; /* maximum of live bytes at the beginning and after each event */
	uint64_t end_bytes; /* live bytes at the end */
	bool lost;          /* a part of it is missing in the file */
	bool before_base;   /* all of it is before the base of a trace that begins late */
};

struct hl_peak;

/*
 * Fills n columns of equal length from the start to the end, and their peak. Decodes only chunks
 * that span more than one column; with a filter (bound here) see filtered_peak.h. Returns 0 or
 * -errno with hl_model_error().
 */
int hl_timeline(struct hl_model *m, struct hl_filter *filter, struct hl_timeline_bin *columns,
	size_t n, struct hl_peak *peak);
/* Announces this query, see prefetch.h. */
void hl_timeline_prefetch(struct hl_model *m, struct hl_filter *filter, size_t n);
/* The column of a time. A column includes its end, as --at does; the first includes time 0. */
size_t hl_timeline_column(const struct hl_model *m, uint64_t ns, size_t n);

#endif
