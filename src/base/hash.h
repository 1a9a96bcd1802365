/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - hash functions for tables in memory. Hashes are never stored, so the functions may
 * change.
 */
#ifndef HL_BASE_HASH_H
#define HL_BASE_HASH_H

#include <stdint.h>

#define HL_HASH_K UINT64_C(0x9e3779b97f4a7c15)

/* The finaliser of splitmix64: every input bit reaches every output bit. */
static inline uint64_t hl_hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline uint64_t hl_hash_pair(uint64_t a, uint64_t b)
{
	return hl_hash_u64(a * HL_HASH_K ^ b);
}

#endif
