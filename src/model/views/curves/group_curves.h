/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_curves.h - live bytes of the rows of a flat table at moments of the run, or of a range.
 *
 * At each moment the values of the rows and `others` add up to `total`, the live bytes of all
 * blocks that the filter selects.
 *
 * Moments are at equal distances if the range has few chunks, or if every event is read. In a
 * longer range they are where chunks begin, and in traces with aggregated blocks at keyframes: then
 * there may be fewer than requested. So only the times in `times` say where a moment is.
 */
#ifndef HL_MODEL_VIEWS_CURVES_GROUP_CURVES_H
#define HL_MODEL_VIEWS_CURVES_GROUP_CURVES_H

#include "model/stack/flat_table.h"
#include "model/views/live_timeline.h"

#define HL_GROUP_CURVES_POINTS_MAX 1024u

struct hl_group_curves_request {
	enum hl_group group;
	struct hl_filter *filter; /* NULL: all blocks; it is bound here */
	struct hl_time_range range;
	bool folds;    /* as in hl_table_build */
	size_t points; /* from 1 to HL_GROUP_CURVES_POINTS_MAX */
	size_t limit;  /* of rows, the ones with the highest value are kept; 0: all */
};

struct hl_group_curves {
	struct hl_time_range range;
	size_t n_points;
	uint64_t *times; /* they never decrease */
	bool *known; /* false: before the base of a trace that begins late, or after lost events */
	uint64_t *total, *others;
	/* The highest value of a row is its value.bytes; it has no blocks. In the order of the
	 * highest value, or of the scale if the group has one. */
	struct hl_table table;
	uint64_t *live;     /* of row i: from live[i * n_points] on */
	size_t n_others;    /* rows beyond the limit that have a value */
	bool before_damage; /* lost events hide the last moments */
	bool by_events;     /* every event was read */
};

/* The query that decides how the curves are computed, and whether the trace has the data. */
struct hl_query hl_group_curves_query(const struct hl_group_curves_request *r);
/* Returns 0, or -errno with hl_model_error(). The caller calls hl_group_curves_fini in either
 * case. */
int hl_group_curves_read(
	struct hl_group_curves *c, struct hl_model *m, const struct hl_group_curves_request *r);
void hl_group_curves_fini(struct hl_group_curves *c);

#endif
