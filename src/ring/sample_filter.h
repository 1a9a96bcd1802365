/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_filter.h - the sampling filter: which blocks may have been sampled. A counting filter with
 * one byte per bucket, indexed by address.
 *
 * The program adds a block before it commits the allocation; the collector removes the block when
 * it is freed. A count of 0 proves that the collector does not know the block, so its free need not
 * be recorded. Any other count proves nothing. A saturated byte stays saturated. The filter
 * preserves locality: 16 bytes of heap map to one byte, and neighbours in a page of the heap are
 * neighbours here.
 *
 * Few blocks are sampled, and the program's data evict the filter from the caches. So a second,
 * smaller filter of the same kind, indexed by page, is checked first.
 */
#ifndef HL_RING_SAMPLE_FILTER_H
#define HL_RING_SAMPLE_FILTER_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/hash.h"
#include "ring/region_layout.h"

#define HL_SAMPLE_FILTER_FULL 255u

hl_inline _Atomic uint8_t *hl_sample_filter_at(struct hl_region *r, uint64_t addr)
{
	uint64_t i = ((addr >> 12) * HL_HASH_K >> (64 - HL_SAMPLE_FILTER_BITS)) + (addr >> 4 & 255);

	return (_Atomic uint8_t *)((char *)r + HL_REGION_FILTER_OFFSET) +
	       (i & ((1u << HL_SAMPLE_FILTER_BITS) - 1));
}

hl_inline _Atomic uint8_t *hl_sample_filter_page_at(struct hl_region *r, uint64_t addr)
{
	return (_Atomic uint8_t *)((char *)r + HL_REGION_FILTER_OFFSET +
				   (1u << HL_SAMPLE_FILTER_BITS)) +
	       ((addr >> 12) * HL_HASH_K >> (64 - HL_SAMPLE_FILTER_PAGES_BITS));
}

hl_inline bool hl_sample_filter_has(struct hl_region *r, uint64_t addr)
{
	return atomic_load_explicit(hl_sample_filter_page_at(r, addr), memory_order_relaxed) != 0 &&
	       atomic_load_explicit(hl_sample_filter_at(r, addr), memory_order_relaxed) != 0;
}

static inline void hl_sample_filter_raise(_Atomic uint8_t *at)
{
	uint8_t n = atomic_load_explicit(at, memory_order_relaxed);

	while (n != HL_SAMPLE_FILTER_FULL &&
		!atomic_compare_exchange_weak(at, &n, (uint8_t)(n + 1)))
		;
}

static inline void hl_sample_filter_lower(_Atomic uint8_t *at)
{
	uint8_t n = atomic_load_explicit(at, memory_order_relaxed);

	while (n != 0 && n != HL_SAMPLE_FILTER_FULL &&
		!atomic_compare_exchange_weak(at, &n, (uint8_t)(n - 1)))
		;
}

static inline void hl_sample_filter_add(struct hl_region *r, uint64_t addr)
{
	hl_sample_filter_raise(hl_sample_filter_at(r, addr));
	hl_sample_filter_raise(hl_sample_filter_page_at(r, addr));
}

static inline void hl_sample_filter_remove(struct hl_region *r, uint64_t addr)
{
	hl_sample_filter_lower(hl_sample_filter_at(r, addr));
	hl_sample_filter_lower(hl_sample_filter_page_at(r, addr));
}

#endif
