/*
 * record.h - lengths of records, for those who must not run past an end. Whatever the words say, a
 * length is within what is there.
 */
#ifndef HL_COLLECT_RECORD_H
#define HL_COLLECT_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "ring/record.h"

/* For types that are rare. */
uint32_t hl_record_length_rare(const uint64_t *words, uint64_t n);

/* Words of the record that begins at `words`, of which `n` are there; 0 when it is none. */
hl_inline uint32_t hl_record_length(const uint64_t *words, uint64_t n)
{
	uint32_t type = n > 2 ? words[0] & 31 : (uint32_t)HL_REC_NONE, len;

	if (hl_likely(type == HL_REC_FREE))
		return 2;
	if (hl_likely(type == HL_REC_ALLOC)) {
		len = 3 + hl_stack_new(words[2]) + ((words[2] & HL_SIZE_BIG) == HL_SIZE_BIG);
		return hl_likely(len <= n) ? len : 0;
	}
	return hl_record_length_rare(words, n);
}

/* How many events of the trace it makes, if the books have no objection: a block that moved is
 * freed and allocated. */
hl_inline uint32_t hl_record_events(const uint64_t *words)
{
	const uint32_t other = 1u << HL_REC_FREE_STACK | 1u << HL_REC_MOVE_END |
			       1u << HL_REC_SAMPLE | 1u << HL_REC_SAMPLE_MOVE |
			       1u << HL_REC_ALLOC_WAY;
	const uint32_t moves = 1u << HL_REC_MOVE_END | 1u << HL_REC_SAMPLE_MOVE;
	uint32_t type = words[0] & 31;

	if (hl_likely(type == HL_REC_FREE || type == HL_REC_ALLOC))
		return 1;
	return (other >> type & 1) + (moves >> type & 1 && words[1] != 0);
}

/* How many of n words are whole records; the events that they make are added. */
uint64_t hl_records_whole(const uint64_t *words, uint64_t n, uint64_t *events);

#endif
