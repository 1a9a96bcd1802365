/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits.h - small arithmetic on words. Pure functions, no state.
 */
#ifndef HL_BASE_BITS_H
#define HL_BASE_BITS_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t hl_align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

/* Index of the highest set bit; 0 for 0 and 1. */
static inline unsigned hl_log2(uint64_t v)
{
	return v < 2 ? 0 : 63u - (unsigned)__builtin_clzll(v);
}

static inline uint64_t hl_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t hl_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static inline uint32_t hl_max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint32_t hl_min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t hl_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t hl_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

#endif
