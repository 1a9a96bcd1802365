/*
 * map.h - from a pair of words to a small number, in memory.
 *
 * Open addressing, at most half full. A zeroed map is an empty one. Nothing is ever removed.
 */
#ifndef HL_UTIL_MAP_H
#define HL_UTIL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No value; it cannot be stored. */
#define HL_MAP_NONE UINT32_MAX

struct hl_map_slot {
	uint64_t a, b;
	uint32_t value; /* HL_MAP_NONE: free */
};

struct hl_map {
	struct hl_map_slot *slots;
	size_t cap, len; /* cap is 0 or a power of two */
};

void hl_map_fini(struct hl_map *m);
/* HL_MAP_NONE when there is none. */
uint32_t hl_map_get(const struct hl_map *m, uint64_t a, uint64_t b);
/* The key must not be there yet. 0 or -ENOMEM. */
int hl_map_put(struct hl_map *m, uint64_t a, uint64_t b, uint32_t value);

#endif
