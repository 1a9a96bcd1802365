/*
 * pools.h - blocks of the program's own pools: matched like those of the heap, told as extras.
 */
#ifndef HL_COLLECT_POOLS_H
#define HL_COLLECT_POOLS_H

#include "collect/live.h"
#include "util/map.h"
#include "util/vec.h"

struct hl_proc;
struct hl_feed;

struct hl_pools {
	struct hl_map by_hash; /* -> its number */
	struct hl_live live;   /* of all pools; made with the first block */
	bool has_live;
	uint32_t n;
	uint64_t n_allocs;
};

/* Records of the ring: a name, a block that comes, one that goes. */
void hl_pools_name(struct hl_feed *f, const uint64_t *words, uint64_t stamp);
void hl_pools_alloc(struct hl_feed *f, uint64_t addr, uint64_t size, uint64_t pool, uint32_t node,
	uint64_t stamp);
void hl_pools_free(struct hl_feed *f, uint64_t addr, uint64_t pool, uint64_t stamp);
void hl_pools_fini(struct hl_pools *p);

#endif
