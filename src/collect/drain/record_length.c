/* SPDX-License-Identifier: Apache-2.0 */
/* record_length.c - see record_length.h. */
#include "collect/drain/record_length.h"

/* Number of words before the pcs, including the first word; index of the stack word. */
static const struct {
	uint8_t fixed, stack_at;
} layouts[HL_REC_COUNT] = {
	[HL_REC_ALLOC] = {3, 2},
	[HL_REC_FREE] = {2, 0},
	[HL_REC_FREE_STACK] = {3, 2},
	[HL_REC_MOVE_BEGIN] = {2, 0},
	[HL_REC_MOVE_END] = {4, 2},
	[HL_REC_MOVE_FAILED] = {2, 0},
	[HL_REC_STACK] = {2, 1},
	[HL_REC_MAP] = {6, 2},
	[HL_REC_UNMAP] = {6, 2},
	[HL_REC_REMAP] = {6, 2},
	[HL_REC_MODULE] = {5, 0},
	[HL_REC_PROCESS] = {2, 0},
	[HL_REC_SWITCH] = {2, 0},
	[HL_REC_MARK] = {2, 0},
	[HL_REC_EXIT] = {8, 0},
	[HL_REC_EXEC] = {1, 0},
	[HL_REC_REAPED] = {2, 0},
	[HL_REC_SAMPLE] = {4, 2},
	[HL_REC_SAMPLE_MOVE] = {5, 2},
	[HL_REC_TAG_NAME] = {3, 0},
	[HL_REC_TAG] = {2, 0},
	[HL_REC_POOL_NAME] = {3, 0},
	[HL_REC_POOL_ALLOC] = {4, 2},
	[HL_REC_POOL_FREE] = {3, 0},
	[HL_REC_STACK_ID] = {2, 0},
	[HL_REC_ALLOC_STACK_ID] = {4, 2},
};

uint32_t hl_record_length_slow(const uint64_t *words, uint64_t n)
{
	uint32_t type, len;

	if (n == 0)
		return 0;
	type = words[0] & 31;
	if (type >= HL_REC_COUNT || !layouts[type].fixed || layouts[type].fixed > n)
		return 0;
	len = layouts[type].fixed;
	if (layouts[type].stack_at) {
		uint64_t stack = words[layouts[type].stack_at];

		len += hl_stack_n_pcs(stack);
		if ((stack & HL_SIZE_BIG) == HL_SIZE_BIG)
			len++;
	} else if (type == HL_REC_MODULE) {
		uint64_t id = (words[4] >> 8) & 0xff, name = (words[4] >> 16) & 0xffff;

		if (id > 64 || name > HL_NAME_MAX)
			return 0;
		len += (uint32_t)((id + 7) / 8 + (name + 7) / 8);
	} else if (type == HL_REC_TAG_NAME || type == HL_REC_POOL_NAME) {
		if (words[2] > (type == HL_REC_TAG_NAME ? HL_TAG_NAME_MAX : HL_POOL_NAME_MAX))
			return 0;
		len += (uint32_t)(words[2] + 7) / 8;
	} else if (type == HL_REC_MARK) {
		len += (uint32_t)((((words[1] >> 8) & 0xffff) + 7) / 8);
	}
	return len <= n ? len : 0;
}

/* The length of a free, or of an allocation with a known stack; 0: another record. 3 words must be
 * available. */
hl_inline uint32_t fast_length(const uint64_t *words)
{
	uint32_t type = words[0] & 31;

	if (type == HL_REC_FREE)
		return 2;
	/* no pcs, whose count is above the size, and no big size */
	return type == HL_REC_ALLOC && (words[2] & (HL_STACK_HAS_ID - 1)) < HL_SIZE_BIG ? 3 : 0;
}

uint64_t hl_records_count_whole(const uint64_t *words, uint64_t n, uint64_t *events)
{
	const uint64_t *at = words, *end = words + n;
	/* Before fast_end, three words are available. */
	const uint64_t *fast_end = n > 2 ? end - 2 : words;
	uint64_t n_fast = 0;

	for (;;) {
		uint32_t len;

		for (; at < fast_end && (len = fast_length(at)); at += len)
			n_fast++;
		len = at < end ? hl_record_length(at, (uint64_t)(end - at)) : 0;
		if (!len)
			break;
		*events += hl_record_events(at);
		at += len;
	}
	*events += n_fast;
	return (uint64_t)(at - words);
}
