/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_map.h - a hash table from a pair of words to a 32-bit value.
 *
 * Open addressing, at most half full. A zeroed map is empty. There is no removal.
 */
#ifndef HL_UTIL_PAIR_MAP_H
#define HL_UTIL_PAIR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Means no value. It cannot be stored. */
#define HL_PAIR_MAP_NONE UINT32_MAX

struct hl_pair_map_slot {
	uint64_t a, b;
	uint32_t value; /* HL_PAIR_MAP_NONE: the slot is free */
};

struct hl_pair_map {
	struct hl_pair_map_slot *slots;
	size_t cap, len; /* cap is 0 or a power of two */
};

void hl_pair_map_fini(struct hl_pair_map *m);
/* Returns HL_PAIR_MAP_NONE if the map does not have the key. */
uint32_t hl_pair_map_get(const struct hl_pair_map *m, uint64_t a, uint64_t b);
/* The key must not be in the map. Returns 0 or -ENOMEM. */
int hl_pair_map_put(struct hl_pair_map *m, uint64_t a, uint64_t b, uint32_t value);

#endif
