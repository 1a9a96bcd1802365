/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_curve.h - live bytes in columns, from a sequence of values in the order of
 * time. The columns cover the run or a range of it: values before the range only decide where the
 * curve begins, values after it are ignored.
 */
#ifndef HL_MODEL_VIEWS_LIVE_LIVE_CURVE_H
#define HL_MODEL_VIEWS_LIVE_LIVE_CURVE_H

#include "base/bits.h"
#include "model/views/live_timeline.h"

struct hl_live_curve {
	struct hl_timeline_bin *columns; /* of the caller */
	size_t n;                        /* 0: there is no curve */
	const uint64_t *ends; /* of the columns; NULL: they have equal lengths. Of the caller */
	struct hl_time_range range;
	uint64_t end_ns;       /* of the run: a range that ends there includes what comes later */
	size_t at;             /* column of the newest value */
	uint64_t bytes;        /* live */
	uint64_t next_ns;      /* the first time that is not in the column */
	bool has_begun, ended; /* the newest value is at or after the begin, after the end */
};

/* Clears the columns. `columns`, `n`, `range` and `end_ns` are set. */
void hl_live_curve_begin(struct hl_live_curve *c);
void hl_live_curve_advance(struct hl_live_curve *c, uint64_t ns);
/* The values that follow are of this time. Columns without a value keep the last one. */
static inline void hl_live_curve_go_to(struct hl_live_curve *c, uint64_t ns)
{
	if (ns >= c->next_ns)
		hl_live_curve_advance(c, ns);
}
/* True if the newest value is in the range. */
static inline bool hl_live_curve_in_range(const struct hl_live_curve *c)
{
	return c->has_begun && !c->ended;
}
/* The live bytes were as many as this. */
static inline void hl_live_curve_touch(struct hl_live_curve *c, uint64_t bytes)
{
	if (hl_live_curve_in_range(c))
		c->columns[c->at].max_bytes = hl_max_u64(c->columns[c->at].max_bytes, bytes);
}
/* The last value is complete. */
void hl_live_curve_end(struct hl_live_curve *c);
/* The column that contains all times from a to b; n: they are outside of the range; SIZE_MAX: they
 * are in several columns. */
size_t hl_live_curve_column_of(const struct hl_live_curve *c, uint64_t a, uint64_t b);

#endif
