/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_weight.h - the weight of a sample: the number of blocks and bytes that it represents.
 *
 * A block of S bytes is sampled with p = 1 - exp(-S/R), so it represents 1/p blocks and S/p bytes.
 * Traces have integers: each weight is rounded up or down at random, with the probability that
 * preserves its mean, so sums stay unbiased. The random number is a hash of `key`, which identifies
 * the block (the matcher makes it from the address and the allocation time). The weight at the free
 * is therefore the same as at the allocation, and only R has to be stored.
 */
#ifndef HL_COLLECT_MATCH_SAMPLE_WEIGHT_H
#define HL_COLLECT_MATCH_SAMPLE_WEIGHT_H

#include <stdint.h>

#include "collect/match/live_table.h"
#include "trace/event.h"

struct hl_sample_weight {
	uint64_t blocks, bytes;
};

/* rate 0: the block represents only itself. */
struct hl_sample_weight hl_sample_weigh(uint64_t size, uint64_t rate, uint64_t key, uint64_t salt);

/* The weight of a sampled block of the live table. rates: by id. */
struct hl_sample_weight hl_sample_weight_of(
	const struct hl_live_entry *b, const uint64_t *rates, uint64_t salt);
/* A block of the live table, with its weight, as the trace has it. */
struct hl_live_block hl_sample_live_block(
	const struct hl_live_entry *b, const uint64_t *rates, uint64_t salt);

#endif
