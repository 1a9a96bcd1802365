/*
 * curve.h - live bytes of the blocks that a filter selects, after every event: the maximum of each
 * part of the run, and the maximum of all of it.
 *
 * A realloc is one step. Of equal maxima the earliest counts.
 */
#ifndef HL_MODEL_CURVE_H
#define HL_MODEL_CURVE_H

#include "model/timeline.h"

/* The maximum. when: the place right after its event, for queries. */
struct hl_peak {
	uint64_t bytes, blocks, time_ns;
	struct hl_when when;
	bool moved; /* a part of the file is lost: this is the maximum before it */
};

/*
 * n columns of equal length (n may be 0) and *peak of the blocks that fit the filter, which is
 * bound here. Takes every event, or, for filters on stacks alone, those of the chunks whose
 * summaries leave the maximum open. Memory: a bit for each allocation. 0 or -errno with
 * hl_model_error(); -ENODATA where events are in sums alone.
 */
int hl_curve(struct hl_model *m, struct hl_filter *filter, struct hl_column *columns, size_t n,
	struct hl_peak *peak);
/* It is going to be asked: see question.h. */
void hl_curve_expect(struct hl_model *m, struct hl_filter *filter, size_t n);
/*
 * The moment that --peak is about: the maximum of what fits the filter, or without one of the heap.
 * For blocks of pools it is that of the heap, whatever the filter.
 */
int hl_peak_find(struct hl_model *m, const struct hl_query *q, struct hl_peak *peak);

#endif
