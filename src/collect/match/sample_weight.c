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
