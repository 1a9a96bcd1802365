/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetimes.h - all blocks that a query counts, with allocation and free, in the order of time: for
 * exporters that write them to another format.
 *
 * Data that was delivered cannot be taken back, so there is no retry as in a shared scan: the
 * delivery ends at the first part of the file that cannot be read, and `before_damage` is set.
 */
#ifndef HL_MODEL_SCAN_LIFETIMES_H
#define HL_MODEL_SCAN_LIFETIMES_H

#include "model/scan/aggregated.h"

struct hl_lifetimes {
	const struct hl_query *query;
	unsigned want; /* HL_WANT_* fields that `event` uses */
	/* Callbacks; each may be NULL. A block is delivered at its free; blocks that are not freed
	 * come after all others, by ordinal. `alloc_phase` and `free_phase` of a block are not set.
	 * Blocks of pools come from side events and are delivered as events too. `extra` gets the
	 * side events whatever the query is, but none with query->pool. */
	int (*event)(void *arg, const struct hl_event *e);
	int (*block)(void *arg, const struct hl_block *b);
	int (*extra)(void *arg, const struct hl_extra *x);
	void *arg;
	/* If not NULL, a trace with aggregated blocks is not refused. hl_aggregated_begin was
	 * called for it; it has the rows of this run afterwards. */
	struct hl_aggregated *aggregated;
	/* For the callbacks: the ordinal of the preceding event if it is an allocation, delivered
	 * or not; else UINT64_MAX. */
	uint64_t last_alloc;
	uint64_t event_index; /* index of the event in the whole trace, from 0 */

	/* Results. */
	struct hl_value allocated; /* sums of the delivered blocks */
	uint64_t end_ns;           /* frees up to this time are known */
	bool before_damage;        /* an unreadable part of the file ended the delivery early */
};

/* Returns 0, -errno with hl_model_error(), or the error of a callback. */
int hl_model_lifetimes(struct hl_model *m, struct hl_lifetimes *l);

#endif
