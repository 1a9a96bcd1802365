/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_table.h - the live blocks of a target, by address. Matches a free to its allocation.
 *
 * Most blocks are short-lived. A direct-mapped cache is in front of the hash table: each address
 * maps to one slot. An insert goes to the slot of its address and evicts the block that is there to
 * the pool. Freeing a cached block leaves a tombstone (the inverted address) in its slot. A
 * tombstone for address A proves that no live block has address A, because every insert of A goes
 * through this slot. So most allocations and frees touch one slot and nothing else. In a program
 * whose blocks are long-lived the cache would only be a detour, and it is dropped
 * (hl_live_consider_cache).
 *
 * All other blocks are packed in a pool. A hash index maps an address to its pool entry. The index
 * consists of cache lines of seven slots, with a one-byte fingerprint for each slot, so that one
 * comparison tests all seven. Blocks of the same 256 bytes of the heap share a line (fewer bytes
 * where blocks are small and dense), and the lines of a page are adjacent, because blocks that are
 * allocated together are mostly freed together. When a line is full, the search probes other lines,
 * in a sequence that depends on the tag. With linear probing, allocators that pack small blocks
 * densely produced runs of hundreds of full slots. A hash table of whole entries, spread over all
 * of its memory, would cost a cache miss for each event and a cleared page for every few blocks;
 * this index is only as large as needed.
 *
 * The index grows incrementally: the new index takes all inserts, and each insert moves a few lines
 * of the old one, so no single event pays for a doubling. A doubling in one step would stall the
 * collector for longer than the rings can buffer.
 *
 * The fast paths of the matcher are in live_table_inline.h.
 */
#ifndef HL_COLLECT_MATCH_LIVE_TABLE_H
#define HL_COLLECT_MATCH_LIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc_func.h"
#include "base/attr.h"
#include "util/vec.h"

/* Filled and read word by word, in place: a wide load of words that were just stored stalls (no
 * store forwarding). */
struct hl_live_entry {
	uint64_t addr;
	uint64_t ordinal_thread; /* ordinal << 24 | thread */
	/* size << 16 | bits 32..47 of the allocation time in units of 64 ns. Bit 63: the block is
	 * in the sampling filter. */
	uint64_t size_time;
	uint64_t time_node; /* bits 0..31 of the allocation time << 32 | origin << 25 | node */
};
_Static_assert(sizeof(struct hl_live_entry) == 32, "two a cache line");

#define HL_LIVE_SLOTS 7u

/* A cache line of the index. A slot is tag << 32 | ref, where ref is the pool index of the entry +
 * 1; 0: empty. `fingerprints` has a byte for each slot, 0 for an empty one. Its eighth byte counts
 * the blocks that found this line full and are stored in another one; a search continues past this
 * line only if the count is not 0. The count saturates at 255 and then never decreases. */
struct hl_live_line {
	uint64_t slots[HL_LIVE_SLOTS];
	uint64_t fingerprints;
};
_Static_assert(sizeof(struct hl_live_line) == 64, "a cache line");

struct hl_live_index {
	struct hl_live_line *lines;
	uint64_t mask, count; /* count: blocks in the index */
	uint64_t grow_at;     /* number of blocks at which a larger index is made */
	uint64_t overflowed;  /* blocks that found their home line full, since the index was made */
	unsigned shift;       /* 64 - log2(lines) */
	unsigned span_bits;   /* 2^span_bits units of 16 bytes of the heap share a line */
	int fd;               /* the unlinked file that backs it, or -1 */
};

#define HL_LIVE_SEGMENT_BITS 16u

/* 2 MiB of entries, and as many elements of the stack of free refs. They are mapped separately,
 * because Linux uses huge pages only for a mapping that is as long as several of them. */
struct hl_live_segment {
	struct hl_live_entry *entries;
	uint32_t *free_stack;
};

/* Free refs are on a separate stack, not in a linked list through the entries. In a list the next
 * ref would be known only after the last entry has been loaded, and the entry is often not in the
 * CPU's cache. */
struct hl_live_pool {
	HL_VEC(struct hl_live_segment) segments;
	uint32_t n_used; /* entries that were used at least once */
	uint32_t n_free; /* refs on the stack */
	int fd;          /* the unlinked file that backs the segments above the memory limit */
};

#define HL_LIVE_CACHE_BITS  16u
#define HL_LIVE_CACHE_SLOTS (1u << HL_LIVE_CACHE_BITS)
#define HL_LIVE_PAGE_SLOTS  128u /* in a page of 4 KiB */
#define HL_LIVE_CACHE_PAGES (HL_LIVE_CACHE_SLOTS / HL_LIVE_PAGE_SLOTS)

struct hl_live_table {
	struct hl_live_entry *cache; /* HL_LIVE_CACHE_SLOTS entries, or NULL: no cache */
	/* The index of the pool. old_index.lines is NULL unless the index is growing. */
	struct hl_live_index index, old_index;
	uint64_t n_moved; /* lines of old_index that have been moved */
	struct hl_live_pool pool;
	/* The result of the last hl_live_find(): a cache slot, or a slot of an index. */
	struct hl_live_entry *found_cached;
	struct hl_live_index *found_index;
	uint64_t *found_slot;
	uint64_t n_inserted, n_removed;
	/* State of the decision whether the cache pays, since the last check. */
	uint64_t checked_inserted, checked_removed; /* n_inserted and n_removed at the last check */
	uint32_t n_evicted;                         /* blocks evicted from the cache */
	uint32_t n_short_lived; /* without a cache: frees of blocks that were allocated recently */
	/* checks in a row in favour of a cache; above patience / 2 it is restored */
	uint32_t good_checks, patience;
	size_t memory_limit; /* memory above this is in an unlinked file ... */
	int dir_fd;          /* ... in this directory */
	/* A bit for each page of the cache that a block was inserted in. Most processes are small,
	 * and a scan of all pages would make them resident. */
	uint64_t cache_pages[HL_LIVE_CACHE_PAGES / 64];
};

/* Valid block addresses are in [HL_LIVE_ADDR_MIN, HL_LIVE_ADDR_END). The table uses other values
 * for empty slots and tombstones. */
#define HL_LIVE_ADDR_MIN UINT64_C(2)
#define HL_LIVE_ADDR_END (UINT64_C(1) << 63)

static inline bool hl_live_is_valid_address(uint64_t addr)
{
	return addr - HL_LIVE_ADDR_MIN < HL_LIVE_ADDR_END - HL_LIVE_ADDR_MIN;
}

int hl_live_init(struct hl_live_table *l, size_t memory_limit, int dir_fd);
void hl_live_fini(struct hl_live_table *l);

static inline uint64_t hl_live_blocks(const struct hl_live_table *l)
{
	return l->n_inserted - l->n_removed;
}

/* Returns the entry of `addr`, or NULL if it is not live. */
struct hl_live_entry *hl_live_find(struct hl_live_table *l, uint64_t addr);
/* Inserts `addr`, which must not be live. Returns an entry with its address set, the rest to be
 * filled by the caller. It is valid until the next insert. NULL: out of memory. */
struct hl_live_entry *hl_live_insert(struct hl_live_table *l, uint64_t addr);
/* Removes the block that the last hl_live_find() found. */
void hl_live_remove_found(struct hl_live_table *l);
/* Removes a block and copies its entry to *out. False if it is not live. */
bool hl_live_remove(struct hl_live_table *l, uint64_t addr, struct hl_live_entry *out);
/* Like hl_live_each(), but fn may change all fields except the address. */
void hl_live_each_mutable(
	struct hl_live_table *l, void (*fn)(void *arg, struct hl_live_entry *), void *arg);
/* Maps zeroed memory by the same rules as the table's own: in a file if it is larger than the
 * memory limit. NULL: out of memory. */
void *hl_live_map_pages(const struct hl_live_table *l, size_t bytes);
/* Calls fn for each live block in the cache. */
void hl_live_each_cached(const struct hl_live_table *l,
	void (*fn)(void *arg, const struct hl_live_entry *), void *arg);
/* Calls fn for each live block once, in no particular order. */
void hl_live_each(const struct hl_live_table *l,
	void (*fn)(void *arg, const struct hl_live_entry *), void *arg);

static inline uint64_t hl_live_ordinal(const struct hl_live_entry *e)
{
	return e->ordinal_thread >> 24;
}

static inline uint32_t hl_live_thread(const struct hl_live_entry *e)
{
	return e->ordinal_thread & 0xffffff;
}

#define HL_LIVE_FILTERED  (UINT64_C(1) << 63)
#define HL_LIVE_SIZE_MAX  ((UINT64_C(1) << 47) - 1)
#define HL_LIVE_NODE_BITS 25u
#define HL_LIVE_NODE_MASK ((1u << HL_LIVE_NODE_BITS) - 1) /* all bits set: no node */
#define HL_LIVE_RATES     63u
/* The origin of a block: below HL_LIVE_FUNCS the function that allocated it; for a sample
 * HL_LIVE_FUNCS - 1 + the id of its rate, and the function is not stored. */
#define HL_LIVE_FUNCS     32u
#define HL_LIVE_RATE_MASK ((uint64_t)(HL_LIVE_FUNCS | HL_LIVE_FUNCS * 2) << HL_LIVE_NODE_BITS)

static inline uint64_t hl_live_size(const struct hl_live_entry *e)
{
	return (e->size_time & ~HL_LIVE_FILTERED) >> 16;
}

static inline uint64_t hl_live_alloc_ns(const struct hl_live_entry *e)
{
	return ((e->size_time & 0xffff) << 32 | e->time_node >> 32) * 64;
}

static inline uint32_t hl_live_node(const struct hl_live_entry *e)
{
	uint32_t node = e->time_node & HL_LIVE_NODE_MASK;

	return node == HL_LIVE_NODE_MASK ? UINT32_MAX : node;
}

/* rate_id: 0: the block represents only itself. */
static inline uint32_t hl_live_origin(uint8_t func, uint8_t rate_id)
{
	return rate_id ? HL_LIVE_FUNCS - 1 + rate_id : func;
}

/* 0: the block represents only itself; else the id of the rate that it was sampled with. */
static inline uint32_t hl_live_rate_id(const struct hl_live_entry *e)
{
	uint32_t origin = (uint32_t)e->time_node >> HL_LIVE_NODE_BITS;

	return origin < HL_LIVE_FUNCS ? 0 : origin - (HL_LIVE_FUNCS - 1);
}

/* The function that allocated the block. */
static inline uint8_t hl_live_func(const struct hl_live_entry *e)
{
	uint32_t origin = (uint32_t)e->time_node >> HL_LIVE_NODE_BITS;

	return origin < HL_LIVE_FUNCS ? (uint8_t)origin : HL_FUNC_UNKNOWN;
}

/* The last word of an entry. The node may be UINT32_MAX: none. */
static inline uint64_t hl_live_time_node(uint64_t units, uint32_t origin, uint32_t node)
{
	return units << 32 | (origin << HL_LIVE_NODE_BITS | (node & HL_LIVE_NODE_MASK));
}

/* The block represents only itself and is not in the sampling filter. */
static inline bool hl_live_is_plain(const struct hl_live_entry *e)
{
	return (int64_t)e->size_time >= 0 && !(e->time_node & HL_LIVE_RATE_MASK);
}

#endif
