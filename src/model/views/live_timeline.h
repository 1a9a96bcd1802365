/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_timeline.h - live bytes over the run, or a range of it, in columns.
 */
#ifndef HL_MODEL_VIEWS_LIVE_TIMELINE_H
#define HL_MODEL_VIEWS_LIVE_TIMELINE_H

#include "model/query/query.h"

struct hl_timeline_bin {
	uint64_t max_bytes; /* maximum of live bytes at the beginning and after each event */
	uint64_t end_bytes; /* live bytes at the end */
	uint64_t end_ns;    /* the end, which belongs to it */
	bool lost;          /* a part of it is missing in the file */
	bool before_base;   /* all of it is before the base of a trace that begins late */
};

struct hl_peak;

/* A part of the run. It includes both ends. */
struct hl_time_range {
	uint64_t from_ns, to_ns; /* from_ns <= to_ns <= the end of the run */
};
static inline bool hl_time_range_equal(const struct hl_time_range *a, const struct hl_time_range *b)
{
	return a->from_ns == b->from_ns && a->to_ns == b->to_ns;
}
struct hl_time_range hl_time_range_all(const struct hl_model *m);
/* The column of a time, of n columns of the range. A column includes its end, as --at does; the
 * first includes the begin of the range. */
size_t hl_time_range_column(const struct hl_time_range *r, uint64_t ns, size_t n);
/* The end of a column. */
uint64_t hl_time_range_end(const struct hl_time_range *r, size_t column, size_t n);

#define HL_TIMELINE_CHUNKS 64

/*
 * Fills n columns from the begin to the end of the range, and the peak of the whole run. Decodes
 * only chunks that span more than one column, and at most HL_TIMELINE_CHUNKS of them, the longest
 * ones: columns that would end in another one end before or after it. All others have equal
 * lengths, as all have with a filter (bound here), see filtered_peak.h. Returns 0 or -errno with
 * hl_model_error().
 */
int hl_timeline_range(struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r,
	struct hl_timeline_bin *columns, size_t n, struct hl_peak *peak);
/* Announces this query, see prefetch.h. */
void hl_timeline_range_prefetch(
	struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r, size_t n);

/* The same for the whole run. */
int hl_timeline(struct hl_model *m, struct hl_filter *filter, struct hl_timeline_bin *columns,
	size_t n, struct hl_peak *peak);
void hl_timeline_prefetch(struct hl_model *m, struct hl_filter *filter, size_t n);
size_t hl_timeline_column(const struct hl_model *m, uint64_t ns, size_t n);

#endif
