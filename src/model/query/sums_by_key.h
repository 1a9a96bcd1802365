/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums_by_key.h - sums by thread, tag or size class at a position, from chunk summaries and events.
 */
#ifndef HL_MODEL_QUERY_SUMS_BY_KEY_H
#define HL_MODEL_QUERY_SUMS_BY_KEY_H

#include "model/scan/shared_scan.h"
#include "model/query/query.h"

/* Allocated and freed blocks, indexed by enum hl_op. */
typedef struct hl_value hl_tally[2];

static inline void hl_tally_add(struct hl_value *v, uint64_t bytes, uint64_t blocks)
{
	v->bytes += bytes;
	v->blocks += blocks;
}

struct hl_key_sums {
	struct hl_scan_consumer consumer;
	struct hl_model *m;
	enum hl_key key;
	uint32_t n_keys;
	struct hl_position position;
	hl_tally *tallies; /* n_keys + 1 */
	struct hl_summary summary;
	/* Positions up to the last one, in the order of time: at_stop is called for each of them
	 * when exactly the events before it are counted, unless lost events hide it. Set by the
	 * caller after init; a scan that begins again calls it again. */
	const struct hl_position *stops;
	size_t n_stops;
	void (*at_stop)(void *arg, size_t stop);
	void *arg;
	size_t next;  /* stop */
	size_t begin; /* the border of the index where the scan begins; 0: the start */
};

static inline uint64_t hl_tally_live_bytes(const struct hl_value *tally)
{
	return tally[HL_OP_ALLOC].bytes - tally[HL_OP_FREE].bytes;
}

/* Do summaries have this key? */
bool hl_key_sums_has_key(enum hl_key key);
/*
 * Prepares k->consumer for hl_scan(), which counts all events before the position. A free counts
 * for the key of its allocation. Keyframes do not have these keys: every chunk before the position
 * must be readable, or the position moves before the first that is not. Returns 0 or -ENOMEM.
 */
int hl_key_sums_init(struct hl_key_sums *k, struct hl_model *m, enum hl_key key, uint32_t n_keys,
	const struct hl_position *position);
void hl_key_sums_fini(struct hl_key_sums *k);
/* For the index: what a chunk adds to the tallies. */
void hl_key_sums_add_summary(struct hl_key_sums *k, const struct hl_summary *summary);
void hl_key_sums_add_events(struct hl_key_sums *k, const struct hl_event *events, size_t n);
/* Fills sums[n_keys + 1] after the scan. Returns 0, or -EBADMSG with hl_model_error(). */
int hl_key_sums_load(const struct hl_key_sums *k, struct hl_sums *sums);

#endif
