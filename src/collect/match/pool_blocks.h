/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_blocks.h - blocks of the program's own pools. They are matched like heap blocks and written
 * as side events.
 */
#ifndef HL_COLLECT_MATCH_POOL_BLOCKS_H
#define HL_COLLECT_MATCH_POOL_BLOCKS_H

#include "collect/match/base_extras.h"
#include "collect/match/live_table.h"
#include "util/pair_map.h"
#include "util/vec.h"

struct hl_target;
struct hl_thread_stream;

struct hl_pool_blocks {
	struct hl_pair_map by_hash; /* hash of the name -> pool number */
	struct hl_live_table live;  /* of all pools; created with the first block */
	bool has_live;
	uint32_t n;
	uint64_t n_allocs;
};

/* Records of a ring: a pool's name, an allocation, a free. */
void hl_pool_blocks_name(struct hl_thread_stream *f, const uint64_t *words, uint64_t stamp);
void hl_pool_blocks_alloc(struct hl_thread_stream *f, uint64_t addr, uint64_t size, uint64_t pool,
	uint32_t node, uint64_t stamp);
void hl_pool_blocks_free(struct hl_thread_stream *f, uint64_t addr, uint64_t pool, uint64_t stamp);
/* Appends the side events of all live blocks. 0 or -ENOMEM. */
int hl_pool_blocks_list(const struct hl_pool_blocks *p, hl_extras *to);
void hl_pool_blocks_fini(struct hl_pool_blocks *p);

#endif
