/* weigh.c - see weigh.h. */
#include <math.h>

#include "base/hash.h"
#include "collect/weigh.h"

/* In [0, 1). */
static double chance(uint64_t hash)
{
	return (double)(hash >> 11) * 0x1p-53;
}

struct hl_weight hl_weigh(uint64_t size, uint64_t rate, uint64_t ordinal, uint64_t salt)
{
	uint64_t hash = hl_hash_pair(salt, ordinal);
	double w;

	if (!rate || !size)
		return (struct hl_weight){1, size};
	w = -1 / expm1(-(double)size / (double)rate);
	return (struct hl_weight){
		.blocks = (uint64_t)(w + chance(hash)),
		.bytes = (uint64_t)(w * (double)size + chance(hl_hash_u64(hash + 1))),
	};
}
