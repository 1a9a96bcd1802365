/* SPDX-License-Identifier: Apache-2.0 */
/* sample_weight.c - see sample_weight.h. */
#include <math.h>

#include "base/hash.h"
#include "collect/match/sample_weight.h"

/* A hash as a number in [0, 1). */
static double uniform(uint64_t hash)
{
	return (double)(hash >> 11) * 0x1p-53;
}

struct hl_sample_weight hl_sample_weigh(uint64_t size, uint64_t rate, uint64_t key, uint64_t salt)
{
	uint64_t hash = hl_hash_pair(salt, key);
	double weight;

	if (!rate || !size)
		return (struct hl_sample_weight){1, size};
	weight = -1 / expm1(-(double)size / (double)rate);
	return (struct hl_sample_weight){
		.blocks = (uint64_t)(weight + uniform(hash)),
		.bytes = (uint64_t)(weight * (double)size + uniform(hl_hash_u64(hash + 1))),
	};
}

/* The key identifies the block: its address and allocation time. */
struct hl_sample_weight hl_sample_weight_of(
	const struct hl_live_entry *b, const uint64_t *rates, uint64_t salt)
{
	return hl_sample_weigh(hl_live_size(b), rates[hl_live_rate_id(b)],
		hl_hash_pair(b->addr, hl_live_alloc_ns(b)), salt);
}

struct hl_live_block hl_sample_live_block(
	const struct hl_live_entry *b, const uint64_t *rates, uint64_t salt)
{
	struct hl_sample_weight weight = {1, hl_live_size(b)};

	if (hl_live_rate_id(b))
		weight = hl_sample_weight_of(b, rates, salt);
	return (struct hl_live_block){
		.addr = b->addr,
		.size = hl_live_size(b),
		.ordinal = hl_live_ordinal(b),
		.alloc_ns = hl_live_alloc_ns(b),
		.node = hl_live_node(b),
		.thread = hl_live_thread(b),
		.blocks = weight.blocks,
		.bytes = weight.bytes,
	};
}
