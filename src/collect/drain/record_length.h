/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_length.h - lengths of records. Whatever the words are, a length never exceeds the words
 * available.
 */
#ifndef HL_COLLECT_DRAIN_RECORD_LENGTH_H
#define HL_COLLECT_DRAIN_RECORD_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "ring/ring_record.h"

/* The slow path of hl_record_length(). */
uint32_t hl_record_length_slow(const uint64_t *words, uint64_t n);

/* Returns the length in words of the record at `words`, of which `n` are available; 0: not a valid
 * record. */
hl_inline uint32_t hl_record_length(const uint64_t *words, uint64_t n)
{
	uint32_t type = n > 2 ? words[0] & 31 : (uint32_t)HL_REC_NONE, len;

	if (hl_likely(type == HL_REC_FREE))
		return 2;
	if (hl_likely(type == HL_REC_ALLOC)) {
		len = 3 + hl_stack_n_pcs(words[2]) + ((words[2] & HL_SIZE_BIG) == HL_SIZE_BIG);
		return hl_likely(len <= n) ? len : 0;
	}
	return hl_record_length_slow(words, n);
}

/* Returns how many events of the trace the record becomes, if the matcher accepts it: a moved block
 * is freed and allocated. */
hl_inline uint32_t hl_record_events(const uint64_t *words)
{
	const uint32_t other = 1u << HL_REC_FREE_STACK | 1u << HL_REC_MOVE_END |
			       1u << HL_REC_SAMPLE | 1u << HL_REC_SAMPLE_MOVE |
			       1u << HL_REC_ALLOC_STACK_ID;
	const uint32_t moves = 1u << HL_REC_MOVE_END | 1u << HL_REC_SAMPLE_MOVE;
	uint32_t type = words[0] & 31;

	if (hl_likely(type == HL_REC_FREE || type == HL_REC_ALLOC))
		return 1;
	return (other >> type & 1) + (moves >> type & 1 && words[1] != 0);
}

/* Returns how many of n words are whole records, and adds the number of their events to *events. */
uint64_t hl_records_count_whole(const uint64_t *words, uint64_t n, uint64_t *events);

#endif
