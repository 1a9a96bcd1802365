/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_blocks.c - see pool_blocks.h.
 *
 * The first block of a pool often has the address of the heap block that contains the pool, and
 * pools may be nested. So pool blocks have a live table of their own, where the pool number is part
 * of the address. The program serializes these events; none is deferred.
 */
#include "collect/match/pool_blocks.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "collect/match/match.h"
#include "collect/match/target_process.h"
#include "ring/ring_record.h"

#define POOLS_MAX   4096u /* a limit against hostile programs */
#define ADDR_BITS   48
#define SIZE_MAX_48 ((UINT64_C(1) << 48) - 1)

void hl_pool_blocks_fini(struct hl_pool_blocks *p)
{
	hl_pair_map_fini(&p->by_hash);
	if (p->has_live)
		hl_live_fini(&p->live);
}

void hl_pool_blocks_name(struct hl_thread_stream *f, const uint64_t *words, uint64_t stamp)
{
	struct hl_target *p = f->target;
	struct hl_extra extra = {
		.kind = HL_EXTRA_POOL, .value = p->match.pools.n, .node = HL_NODE_NONE};

	if (p->match.pools.n >= POOLS_MAX ||
		hl_pair_map_get(&p->match.pools.by_hash, words[1], 0) != HL_PAIR_MAP_NONE)
		return;
	if (hl_pair_map_put(&p->match.pools.by_hash, words[1], 0, p->match.pools.n)) {
		p->match.out_of_memory = true;
		return;
	}
	p->match.pools.n++;
	hl_match_extra(p, f, &extra, (const char *)(words + 3), (uint32_t)words[2], stamp);
}

/* The block's key in the live table; 0: an unknown pool or an invalid address. */
static uint64_t block_key(struct hl_target *p, uint64_t addr, uint64_t hash, uint32_t *pool)
{
	*pool = hl_pair_map_get(&p->match.pools.by_hash, hash, 0);
	if (*pool == HL_PAIR_MAP_NONE || addr >> ADDR_BITS || !addr)
		return 0;
	if (!p->match.pools.has_live && hl_live_init(&p->match.pools.live,
						p->match.live.memory_limit, p->match.live.dir_fd)) {
		p->match.out_of_memory = true;
		return 0;
	}
	p->match.pools.has_live = true;
	return addr | (uint64_t)(*pool + 1) << ADDR_BITS;
}

static void write_pool_free(struct hl_thread_stream *f, uint64_t key, uint32_t pool, uint64_t stamp)
{
	struct hl_extra extra = {.kind = HL_EXTRA_POOL_FREE,
		.addr = key & ((UINT64_C(1) << ADDR_BITS) - 1),
		.value = pool,
		.value2 = HL_POOL_UNKNOWN,
		.node = HL_NODE_NONE};
	struct hl_live_entry freed;

	if (hl_live_remove(&f->target->match.pools.live, key, &freed)) {
		extra.size = hl_live_size(&freed);
		extra.value2 = hl_live_ordinal(&freed);
		extra.node = hl_live_node(&freed);
	}
	hl_match_extra(f->target, f, &extra, NULL, 0, stamp);
}

/* Fills the entry of a new block. */
static void set_origin(struct hl_thread_stream *f, struct hl_live_entry *block,
	const struct hl_extra *x, uint64_t stamp)
{
	struct hl_target *p = f->target;
	uint32_t role = f->role != UINT32_MAX ? f->role : hl_match_thread(p, f);
	uint64_t units = hl_match_time(p, stamp) / HL_TIME_UNIT_NS;

	block->ordinal_thread = p->match.pools.n_allocs++ << 24 | (role & 0xffffff);
	block->size_time = hl_min_u64(x->size, HL_LIVE_SIZE_MAX) << 16 | ((units >> 32) & 0xffff);
	block->time_node = hl_live_time_node(units, 0, x->node);
}

static void append_block(void *arg, const struct hl_live_entry *e)
{
	hl_extras *to = arg;

	to->data[to->len++] = (struct hl_extra){.kind = HL_EXTRA_POOL_ALLOC,
		.time_ns = hl_live_alloc_ns(e),
		.addr = e->addr & ((UINT64_C(1) << ADDR_BITS) - 1),
		.size = hl_live_size(e),
		.value = (e->addr >> ADDR_BITS) - 1,
		.value2 = hl_live_ordinal(e),
		.thread = hl_live_thread(e),
		.node = hl_live_node(e)};
}

int hl_pool_blocks_list(const struct hl_pool_blocks *p, hl_extras *to)
{
	if (!p->has_live)
		return 0;
	if (hl_vec_reserve(to, to->len + hl_live_blocks(&p->live)))
		return -ENOMEM;
	hl_live_each(&p->live, append_block, to);
	return 0;
}

void hl_pool_blocks_alloc(struct hl_thread_stream *f, uint64_t addr, uint64_t size, uint64_t hash,
	uint32_t node, uint64_t stamp)
{
	struct hl_target *p = f->target;
	struct hl_extra extra = {.kind = HL_EXTRA_POOL_ALLOC, .addr = addr, .node = node};
	struct hl_live_entry *block;
	uint32_t pool;
	uint64_t key = block_key(p, addr, hash, &pool);

	if (!key) {
		p->match.counters.dropped_events++;
		return;
	}
	if (hl_live_find(&p->match.pools.live, key))
		write_pool_free(f, key, pool, stamp); /* the pool was emptied without frees */
	block = hl_live_insert(&p->match.pools.live, key);
	if (!block) {
		p->match.out_of_memory = true;
		return;
	}
	extra.size = hl_min_u64(size, SIZE_MAX_48);
	extra.value = pool;
	extra.value2 = p->match.pools.n_allocs;
	set_origin(f, block, &extra, stamp);
	hl_match_extra(p, f, &extra, NULL, 0, stamp);
}

void hl_pool_blocks_free(struct hl_thread_stream *f, uint64_t addr, uint64_t hash, uint64_t stamp)
{
	uint32_t pool;
	uint64_t key = block_key(f->target, addr, hash, &pool);

	if (key)
		write_pool_free(f, key, pool, stamp);
	else
		f->target->match.counters.dropped_events++;
}
