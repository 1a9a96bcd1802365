/*
 * weigh.h - what a sample stands for.
 *
 * A block of S bytes is taken with p = 1 - exp(-S/R), so it stands for 1/p blocks and S/p bytes.
 * Traces hold whole numbers: each is rounded up or down by a chance that keeps its mean, so sums
 * stay unbiased. The chance comes from the block's ordinal: asked again at its free, the answer is
 * the same, and nothing need be kept but R.
 */
#ifndef HL_COLLECT_WEIGH_H
#define HL_COLLECT_WEIGH_H

#include <stdint.h>

struct hl_weight {
	uint64_t blocks, bytes;
};

/* rate 0: the block stands for itself alone. */
struct hl_weight hl_weigh(uint64_t size, uint64_t rate, uint64_t ordinal, uint64_t salt);

#endif
