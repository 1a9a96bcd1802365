/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_history.h - the blocks of each stack over the run: their lifetimes and the most that were
 * live.
 */
#ifndef HL_MODEL_VIEWS_SITE_HISTORY_H
#define HL_MODEL_VIEWS_SITE_HISTORY_H

#include "model/scan/lifetimes.h"

struct hl_site_history {
	uint32_t node; /* HL_NODE_NONE: blocks without a stack */
	uint32_t key;  /* as in struct hl_cross_sums_row */
	struct hl_value allocated, live_end;
	struct hl_value max_live; /* at the first maximum of this row's bytes */
	struct hl_value at_peak;  /* at the maximum of all counted blocks together */
	bool is_aggregated; /* aggregated blocks: life_ns and the true maximum are not known */
	uint64_t life_ns;   /* sum of lifetimes; of blocks that are not freed, up to the end */
};

struct hl_site_histories {
	struct hl_site_history *rows; /* by stack and key, in order of first allocation */
	size_t n;
	struct hl_value allocated, live_end, at_peak;
	/* If some blocks are aggregated, the peak is that of the whole heap. */
	uint64_t peak_ns, end_ns;
	bool before_damage; /* a damaged part of the file ended the scan early */
};

/* Computes the rows over the whole lifetimes of the blocks that the query counts, by stack and by
 * the query's key. The key must be one that each event has: stack, thread, tag, size or interval.
 * rest: as `aggregated` in struct hl_lifetimes. Rows of aggregated blocks come last; their
 * `max_live` is the largest known value, and they have a key only if the key is the stack. Returns
 * 0 or -errno with hl_model_error(). The caller frees *c with hl_site_histories_fini. */
int hl_model_site_histories(struct hl_site_histories *c, struct hl_model *m,
	const struct hl_query *q, struct hl_aggregated *rest);
void hl_site_histories_fini(struct hl_site_histories *c);

#endif
