/*
 * filter.h - which blocks may have been sampled: a byte that counts, by address.
 *
 * The program adds a block before its allocation is committed, the collector takes it out when the
 * block is freed. A count of 0 says for sure that the block is not known to the collector, so that
 * its free need not be told; any other count says nothing. A byte that is full stays so for ever.
 * What lies side by side in the heap does so here: 16 bytes of heap are a byte of the filter.
 */
#ifndef HL_RING_FILTER_H
#define HL_RING_FILTER_H

#include <stdbool.h>

#include "base/hash.h"
#include "ring/layout.h"

#define HL_FILTER_FULL 255u

static inline _Atomic uint8_t *hl_filter_at(struct hl_region *r, uint64_t addr)
{
	uint64_t i = ((addr >> 12) * HL_HASH_K >> (64 - HL_FILTER_BITS)) + (addr >> 4 & 255);

	return (_Atomic uint8_t *)((char *)r + HL_REGION_FILTER_OFFSET) +
	       (i & ((1u << HL_FILTER_BITS) - 1));
}

static inline bool hl_filter_has(struct hl_region *r, uint64_t addr)
{
	return atomic_load_explicit(hl_filter_at(r, addr), memory_order_relaxed) != 0;
}

static inline void hl_filter_add(struct hl_region *r, uint64_t addr)
{
	_Atomic uint8_t *at = hl_filter_at(r, addr);
	uint8_t n = atomic_load_explicit(at, memory_order_relaxed);

	while (n != HL_FILTER_FULL && !atomic_compare_exchange_weak(at, &n, (uint8_t)(n + 1)))
		;
}

static inline void hl_filter_remove(struct hl_region *r, uint64_t addr)
{
	_Atomic uint8_t *at = hl_filter_at(r, addr);
	uint8_t n = atomic_load_explicit(at, memory_order_relaxed);

	while (n != 0 && n != HL_FILTER_FULL &&
		!atomic_compare_exchange_weak(at, &n, (uint8_t)(n - 1)))
		;
}

#endif
