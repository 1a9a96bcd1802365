/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_table_inline.h - the live table's fast paths, which are inlined into the matcher: the cache,
 * and finds, inserts and removals in the home line of an address. live_table.h describes the
 * structure.
 */
#ifndef HL_COLLECT_MATCH_LIVE_TABLE_INLINE_H
#define HL_COLLECT_MATCH_LIVE_TABLE_INLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/hash.h"
#include "collect/match/live_table.h"

/* --- the cache --- */

/* The slots for one MiB of the heap are adjacent, so that a small heap touches few pages. */
static inline struct hl_live_entry *hl_live_cache_slot(const struct hl_live_table *l, uint64_t addr)
{
	uint64_t near = addr >> 4, far = near >> HL_LIVE_CACHE_BITS;

	return &l->cache[(near + (far * HL_HASH_K >> (64 - HL_LIVE_CACHE_BITS))) &
			 (HL_LIVE_CACHE_SLOTS - 1)];
}

/* True: a live block. False: an empty slot or a tombstone. */
static inline bool hl_live_is_block(const struct hl_live_entry *cached)
{
	return cached->addr - 1 < HL_LIVE_ADDR_END - 1;
}

/* The fast path of an insert: the slot has the tombstone of `addr`. False: call hl_live_insert(),
 * if `addr` is not live. */
hl_inline bool hl_live_cache_insert(
	struct hl_live_table *l, struct hl_live_entry *cached, uint64_t addr)
{
	if (hl_unlikely(cached->addr != ~addr))
		return false;
	cached->addr = addr;
	l->n_inserted++;
	return true;
}

/* Removes the block in this slot. All fields but the address can still be read. */
hl_inline void hl_live_cache_remove(struct hl_live_table *l, struct hl_live_entry *cached)
{
	cached->addr = ~cached->addr;
	l->n_removed++;
}

/* Without a cache: counts a free of a block that was the newest one `age` allocations ago, if the
 * cache would still have held it. */
hl_inline void hl_live_count_age(struct hl_live_table *l, uint64_t age)
{
	l->n_short_lived += age < HL_LIVE_CACHE_SLOTS / 4;
}

/* Decides whether the cache pays. Call it regularly, when no pointer to an index line or entry is
 * held: both may move. */
#define HL_LIVE_CONSIDER_EVERY (1u << 17)
void hl_live_switch_cache(struct hl_live_table *l);
hl_inline void hl_live_consider_cache(struct hl_live_table *l)
{
	if (hl_unlikely(l->n_inserted + l->n_removed - l->checked_inserted - l->checked_removed >
			HL_LIVE_CONSIDER_EVERY))
		hl_live_switch_cache(l);
}

/* --- the pool and its index --- */

#define HL_LIVE_SEGMENT_MASK ((1u << HL_LIVE_SEGMENT_BITS) - 1)

static inline struct hl_live_entry *hl_live_entry_at(const struct hl_live_pool *p, uint32_t i)
{
	return &p->segments.data[i >> HL_LIVE_SEGMENT_BITS].entries[i & HL_LIVE_SEGMENT_MASK];
}

/* The i-th element of the stack of free refs. */
static inline uint32_t *hl_live_free_stack_at(const struct hl_live_pool *p, uint32_t i)
{
	return &p->segments.data[i >> HL_LIVE_SEGMENT_BITS].free_stack[i & HL_LIVE_SEGMENT_MASK];
}

/* The part of an address that the index stores: enough to distinguish the blocks of 64 GiB. */
static inline uint32_t hl_live_tag(uint64_t addr)
{
	return (uint32_t)(addr >> 4);
}

/* The home line of a tag, where its search begins. Groups of 16 consecutive spans are hashed; the
 * spans of one group have consecutive lines. */
static inline uint64_t hl_live_home_number(const struct hl_live_index *t, uint32_t tag)
{
	uint64_t far = tag >> t->span_bits >> 4, near = tag >> t->span_bits & 15;

	return ((far * HL_HASH_K >> t->shift) + near) & t->mask;
}

/* A byte that distinguishes the blocks of a line as far as possible; never 0. */
static inline uint64_t hl_live_fingerprint(uint32_t tag)
{
	return ((tag ^ tag >> 9) << 1 & 255) | 1;
}

/* Sets the high bit of each byte of w that is 0. It is also set for some bytes that are 1, but only
 * above one that is 0. */
static inline uint64_t hl_live_zeros(uint64_t w)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return (w - ones) & ~w & ones << 7;
}

#define HL_LIVE_OVERFLOW (UINT64_C(255) << 56)

/* The slots of a line that may have this tag, as the high bits of their bytes. Branchless, because
 * the position of a block in its line is unpredictable. */
static inline uint64_t hl_live_match_slots(const struct hl_live_line *line, uint32_t tag)
{
	uint64_t wanted = hl_live_fingerprint(tag) * UINT64_C(0x0101010101010101);

	return hl_live_zeros((line->fingerprints ^ wanted) | HL_LIVE_OVERFLOW);
}

/* The first slot of a match. */
static inline uint32_t hl_live_first_slot(uint64_t match)
{
	return (uint32_t)__builtin_ctzll(match) / 8;
}

/* The home line of `addr`. The pointer is valid until the index is replaced. */
hl_inline struct hl_live_line *hl_live_home_line(const struct hl_live_table *l, uint64_t addr)
{
	return &l->index.lines[hl_live_home_number(&l->index, hl_live_tag(addr))];
}

/* Call it some time after the line was prefetched. Prefetches the entry of `addr`, if it is in its
 * home line, and returns it; its contents should be read some time later. The entry may be of
 * another block with the same fingerprint. NULL: it is not in this line. */
hl_inline const struct hl_live_entry *hl_live_prefetch_entry(
	const struct hl_live_table *l, uint64_t addr, const struct hl_live_line *line)
{
	uint32_t tag = hl_live_tag(addr), ref;
	const struct hl_live_entry *e;
	uint64_t match = hl_live_match_slots(line, tag);

	if (!match)
		return NULL;
	ref = (uint32_t)line->slots[hl_live_first_slot(match)];
	if (!ref)
		return NULL;
	e = hl_live_entry_at(&l->pool, ref - 1);
	hl_prefetch_write(e);
	return e;
}

/* If the index is growing: moves lines for n inserts. Call it before n calls of
 * hl_live_insert_home(), or regularly while there is a cache. */
void hl_live_continue_growth(struct hl_live_table *l, uint32_t n);

/* The fast paths of find, remove and insert without a cache, in a few instructions. They work when
 * the block's home line (hl_live_line) has room for all blocks whose home it is. NULL proves
 * nothing: call hl_live_find() or hl_live_insert(). */
hl_inline struct hl_live_entry *hl_live_find_home(const struct hl_live_table *l, uint64_t addr,
	const struct hl_live_line *line, uint32_t *slot)
{
	uint32_t tag = hl_live_tag(addr);
	uint64_t match = hl_live_match_slots(line, tag);
	struct hl_live_entry *e;

	if (hl_unlikely(!match))
		return NULL;
	*slot = hl_live_first_slot(match);
	if (hl_unlikely(!(uint32_t)line->slots[*slot]))
		return NULL;
	e = hl_live_entry_at(&l->pool, (uint32_t)line->slots[*slot] - 1);
	return hl_likely(e->addr == addr) ? e : NULL;
}

/* Puts an entry on the stack of free refs. hl_live_each() skips entries whose address is 0. */
hl_inline void hl_live_free_ref(struct hl_live_pool *p, struct hl_live_entry *e, uint32_t ref)
{
	e->addr = 0;
	*hl_live_free_stack_at(p, p->n_free++) = ref;
}

/* Removes the entry that hl_live_find_home() has found. */
hl_inline void hl_live_remove_home(
	struct hl_live_table *l, struct hl_live_entry *e, struct hl_live_line *line, uint32_t slot)
{
	hl_live_free_ref(&l->pool, e, (uint32_t)line->slots[slot]);
	line->slots[slot] = 0;
	line->fingerprints &= ~(UINT64_C(255) << slot * 8);
	l->index.count--;
	l->n_removed++;
}

#define HL_LIVE_PREFETCH_DISTANCE \
	4u /* an entry is prefetched when this many others are used before it */

/* The ref of an unused entry; 0: none is ready, the pool must grow. */
hl_inline uint32_t hl_live_alloc_ref(struct hl_live_pool *p)
{
	if (hl_likely(p->n_free > 0)) {
		uint32_t top = --p->n_free;

		if (top >= HL_LIVE_PREFETCH_DISTANCE)
			hl_prefetch_write(hl_live_entry_at(
				p, *hl_live_free_stack_at(p, top - HL_LIVE_PREFETCH_DISTANCE) - 1));
		return *hl_live_free_stack_at(p, top);
	}
	return p->n_used < p->segments.len << HL_LIVE_SEGMENT_BITS ? ++p->n_used : 0;
}

/* Fills an empty slot. */
hl_inline void hl_live_fill_slot(
	struct hl_live_index *t, struct hl_live_line *line, uint32_t i, uint64_t slot)
{
	line->slots[i] = slot;
	line->fingerprints |= hl_live_fingerprint((uint32_t)(slot >> 32)) << i * 8;
	t->count++;
}

/* While the index grows: true if certainly no block with this tag is left in the old index. */
hl_inline bool hl_live_is_moved(const struct hl_live_table *l, uint32_t tag)
{
	const struct hl_live_line *line =
		&l->old_index.lines[hl_live_home_number(&l->old_index, tag)];

	return !hl_live_match_slots(line, tag) && !(line->fingerprints & HL_LIVE_OVERFLOW);
}

/* Returns a new entry of `addr`, to be filled. NULL: `addr` may be live, or the slow path is
 * needed. */
hl_inline struct hl_live_entry *hl_live_insert_home(
	struct hl_live_table *l, uint64_t addr, struct hl_live_line *line)
{
	uint32_t tag = hl_live_tag(addr), ref;
	uint64_t fingerprints = line->fingerprints,
		 empty = hl_live_zeros(fingerprints | HL_LIVE_OVERFLOW);
	struct hl_live_entry *e;

	if (hl_unlikely(hl_live_match_slots(line, tag) || fingerprints & HL_LIVE_OVERFLOW ||
			!empty || l->index.count >= l->index.grow_at ||
			(l->old_index.lines && !hl_live_is_moved(l, tag))))
		return NULL;
	ref = hl_live_alloc_ref(&l->pool);
	if (hl_unlikely(!ref))
		return NULL;
	e = hl_live_entry_at(&l->pool, ref - 1);
	hl_live_fill_slot(&l->index, line, hl_live_first_slot(empty), (uint64_t)tag << 32 | ref);
	l->n_inserted++;
	e->addr = addr;
	return e;
}

#endif
