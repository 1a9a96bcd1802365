/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_lived.h - the share of allocations that were freed soon, as one number for a whole trace.
 *
 * "Soon" is one of three bounds of lifetime classes, those nearest to 1 us, 100 us and 10 ms. A
 * bound above a tenth of the run is not used, except the first. Of these it is the smallest one
 * below which at least half of the blocks are that are below the largest one; if no block is below
 * the largest, it is the largest. So the bound depends on the trace alone.
 */
#ifndef HL_MODEL_TOTALS_SHORT_LIVED_H
#define HL_MODEL_TOTALS_SHORT_LIVED_H

#include "model/model.h"

struct hl_short_lived {
	uint64_t bound_ns;    /* short-lived: the lifetime is below this */
	uint64_t blocks;      /* short-lived blocks; an estimate if the trace has samples */
	uint64_t allocations; /* all blocks */
};

#define HL_SHORT_LIVED_BOUNDS 3
extern const uint64_t hl_short_lived_bounds[HL_SHORT_LIVED_BOUNDS];

/* A scan of this many events takes about a second. */
#define HL_SHORT_LIVED_EVENTS 20000000

/* Traces have the lifetimes as sums. Older ones do not: if they have at most max_events events, all
 * are read. Returns 0, or -errno with hl_model_error(), a sentence; -ENODATA: the number is not
 * known, or not without reading more events. */
int hl_short_lived_find(struct hl_model *m, uint64_t max_events, struct hl_short_lived *s);
/* The index of the bound that is chosen for a run of this length; below[i]: blocks below bound i.
 */
size_t hl_short_lived_choose(const uint64_t below[HL_SHORT_LIVED_BOUNDS], uint64_t run_ns);
/* The bound for people, "about 100 us": the number that it is nearest to. buf: HL_TEXT_SIZE_MAX.
 * Returns buf. */
char *hl_short_lived_bound_text(char *buf, uint64_t bound_ns);
/* From 0 to 100; 0 without allocations. */
double hl_short_lived_percent(const struct hl_short_lived *s);

#endif
