/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_points.h - live bytes over a range of a long trace, from chunk headers alone.
 *
 * The columns of live_timeline.h have equal lengths, so that most of them begin inside of a chunk
 * whose events are needed. Columns that begin where chunks begin need none: a plot of any range of
 * any trace is ready at once. The numbers are as exact; only the lengths differ.
 */
#ifndef HL_MODEL_VIEWS_LIVE_LIVE_POINTS_H
#define HL_MODEL_VIEWS_LIVE_LIVE_POINTS_H

#include "model/views/live_timeline.h"

struct hl_live_point {
	uint64_t from_ns, to_ns; /* both are included */
	uint64_t max_bytes, end_bytes;
	bool lost; /* a part of it is missing in the file */
};

/* Ranges of at most this many chunks have columns of equal length. */
#define HL_LIVE_POINTS_CHUNKS 64

/*
 * Fills at most `most` points, at least 1, and sets *n. A column of chunks that is partly in the
 * range is whole: the first may begin before the range, the last may end after it. A short range,
 * or a trace with aggregated blocks, has `most` columns of equal length. Returns 0 or -errno with
 * hl_model_error().
 */
int hl_live_points(struct hl_model *m, const struct hl_time_range *r, struct hl_live_point *points,
	size_t most, size_t *n);

#endif
