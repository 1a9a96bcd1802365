/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_fast.h - the fast path of the matcher, for nearly all events.
 */
#ifndef HL_COLLECT_MATCH_MATCH_FAST_H
#define HL_COLLECT_MATCH_MATCH_FAST_H

#include <stdint.h>

struct hl_target;
struct hl_thread_stream;

/* Applies pending events from the i-th on, as long as they qualify for the fast path. Returns the
 * index of the first one that does not, or the number of pending events. */
uint32_t hl_match_fast_flush(struct hl_target *p, uint32_t i);

/* Records of one ring, checked for length. `near`: a recent stamp, to extend the stamps of records
 * to 64 bits. */
struct hl_record_cursor {
	const uint64_t *at, *end;
	uint64_t stamp, near; /* stamp: of the record at `at` */
};
/* Processes consecutive allocations and frees from the cursor on whose stamps are below `before`,
 * and moves the cursor behind them. Stops early when a batch has been applied, so that the caller
 * can check the state of its queues. */
void hl_target_process_heap_records(struct hl_target *p, struct hl_thread_stream *f,
	struct hl_record_cursor *cursor, uint64_t before);

#endif
