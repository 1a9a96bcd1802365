/*
 * pools.c - see pools.h.
 *
 * A pool's first block often lies where the heap block does that the pool is made of, and pools may
 * lie in each other: so they have a table of their own, and an address there belongs to a pool. The
 * program orders what it tells us; nothing is parked.
 */
#include "collect/pools.h"

#include <string.h>

#include "base/bits.h"
#include "collect/books.h"
#include "collect/proc.h"
#include "ring/record.h"

#define POOLS_MAX   4096u /* a hostile program has no more */
#define ADDR_BITS   48
#define SIZE_MAX_48 ((UINT64_C(1) << 48) - 1)

void hl_pools_fini(struct hl_pools *p)
{
	hl_map_fini(&p->by_hash);
	if (p->has_live)
		hl_live_fini(&p->live);
}

void hl_pools_name(struct hl_feed *f, const uint64_t *words, uint64_t stamp)
{
	struct hl_proc *p = f->proc;
	struct hl_extra extra = {.kind = HL_EXTRA_POOL, .value = p->pools.n, .node = HL_NODE_NONE};

	if (p->pools.n >= POOLS_MAX || hl_map_get(&p->pools.by_hash, words[1], 0) != HL_MAP_NONE)
		return;
	if (hl_map_put(&p->pools.by_hash, words[1], 0, p->pools.n)) {
		p->out_of_memory = true;
		return;
	}
	p->pools.n++;
	hl_books_extra(p, f, &extra, (const char *)(words + 3), (uint32_t)words[2], stamp);
}

/* The block's place in the table; 0: there is none such. */
static uint64_t key_of(struct hl_proc *p, uint64_t addr, uint64_t hash, uint32_t *pool)
{
	*pool = hl_map_get(&p->pools.by_hash, hash, 0);
	if (*pool == HL_MAP_NONE || addr >> ADDR_BITS || !addr)
		return 0;
	if (!p->pools.has_live &&
		hl_live_init(&p->pools.live, p->live.memory_limit, p->live.dir_fd)) {
		p->out_of_memory = true;
		return 0;
	}
	p->pools.has_live = true;
	return addr | (uint64_t)(*pool + 1) << ADDR_BITS;
}

static void tell_free(struct hl_feed *f, uint64_t key, uint32_t pool, uint64_t stamp)
{
	struct hl_extra extra = {.kind = HL_EXTRA_POOL_FREE,
		.addr = key & ((UINT64_C(1) << ADDR_BITS) - 1),
		.value = pool,
		.value2 = HL_POOL_UNKNOWN,
		.node = HL_NODE_NONE};
	struct hl_live_entry gone;

	if (hl_live_take(&f->proc->pools.live, key, &gone)) {
		extra.size = hl_live_size(&gone);
		extra.value2 = hl_live_ordinal(&gone);
		extra.node = hl_live_node(&gone);
	}
	hl_books_extra(f->proc, f, &extra, NULL, 0, stamp);
}

void hl_pools_alloc(struct hl_feed *f, uint64_t addr, uint64_t size, uint64_t hash, uint32_t node,
	uint64_t stamp)
{
	struct hl_proc *p = f->proc;
	struct hl_extra extra = {.kind = HL_EXTRA_POOL_ALLOC, .addr = addr, .node = node};
	struct hl_live_entry *block;
	uint32_t pool;
	uint64_t key = key_of(p, addr, hash, &pool);

	if (!key) {
		p->counters.dropped_events++;
		return;
	}
	if (hl_live_find(&p->pools.live, key))
		tell_free(f, key, pool, stamp); /* the pool was emptied without a word */
	block = hl_live_insert(&p->pools.live, key);
	if (!block) {
		p->out_of_memory = true;
		return;
	}
	extra.size = hl_min_u64(size, SIZE_MAX_48);
	extra.value = pool;
	extra.value2 = p->pools.n_allocs;
	block->ordinal_thread = p->pools.n_allocs++ << 24;
	block->size_birth = extra.size << 16;
	block->birth_node = node;
	hl_books_extra(p, f, &extra, NULL, 0, stamp);
}

void hl_pools_free(struct hl_feed *f, uint64_t addr, uint64_t hash, uint64_t stamp)
{
	uint32_t pool;
	uint64_t key = key_of(f->proc, addr, hash, &pool);

	if (key)
		tell_free(f, key, pool, stamp);
	else
		f->proc->counters.dropped_events++;
}
