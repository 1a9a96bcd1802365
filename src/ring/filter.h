/*
 * filter.h - which blocks may have been sampled: a byte that counts, by address.
 *
 * The program adds a block before its allocation is committed, the collector takes it out when the
 * block is freed. A count of 0 says for sure that the block is not known to the collector, so that
 * its free need not be told; any other count says nothing. A byte that is full stays so for ever.
 * What lies side by side in the heap does so here: 16 bytes of heap are a byte of the filter.
 *
 * Few blocks are sampled, and a program's data drive the filter out of the caches. So its pages
 * have a small one of their own, of the same kind, which is asked first.
 */
#ifndef HL_RING_FILTER_H
#define HL_RING_FILTER_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/hash.h"
#include "ring/layout.h"

#define HL_FILTER_FULL 255u

hl_inline _Atomic uint8_t *hl_filter_at(struct hl_region *r, uint64_t addr)
{
	uint64_t i = ((addr >> 12) * HL_HASH_K >> (64 - HL_FILTER_BITS)) + (addr >> 4 & 255);

	return (_Atomic uint8_t *)((char *)r + HL_REGION_FILTER_OFFSET) +
	       (i & ((1u << HL_FILTER_BITS) - 1));
}

hl_inline _Atomic uint8_t *hl_filter_page_at(struct hl_region *r, uint64_t addr)
{
	return (_Atomic uint8_t *)((char *)r + HL_REGION_FILTER_OFFSET + (1u << HL_FILTER_BITS)) +
	       ((addr >> 12) * HL_HASH_K >> (64 - HL_FILTER_PAGES_BITS));
}

hl_inline bool hl_filter_has(struct hl_region *r, uint64_t addr)
{
	return atomic_load_explicit(hl_filter_page_at(r, addr), memory_order_relaxed) != 0 &&
	       atomic_load_explicit(hl_filter_at(r, addr), memory_order_relaxed) != 0;
}

static inline void hl_filter_raise(_Atomic uint8_t *at)
{
	uint8_t n = atomic_load_explicit(at, memory_order_relaxed);

	while (n != HL_FILTER_FULL && !atomic_compare_exchange_weak(at, &n, (uint8_t)(n + 1)))
		;
}

static inline void hl_filter_lower(_Atomic uint8_t *at)
{
	uint8_t n = atomic_load_explicit(at, memory_order_relaxed);

	while (n != 0 && n != HL_FILTER_FULL &&
		!atomic_compare_exchange_weak(at, &n, (uint8_t)(n - 1)))
		;
}

static inline void hl_filter_add(struct hl_region *r, uint64_t addr)
{
	hl_filter_raise(hl_filter_at(r, addr));
	hl_filter_raise(hl_filter_page_at(r, addr));
}

static inline void hl_filter_remove(struct hl_region *r, uint64_t addr)
{
	hl_filter_lower(hl_filter_at(r, addr));
	hl_filter_lower(hl_filter_page_at(r, addr));
}

#endif
