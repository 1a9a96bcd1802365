/*
 * live.h - the blocks alive now, by address: what matches a free to its allocation.
 *
 * Most blocks die young. Each address has a place, where a block lies from its birth until another
 * is born to the same place. Who dies there leaves his address behind, inverted: as long as it
 * stands there nothing lives at that address, anywhere, for whoever comes to it comes by this
 * place. So most allocations and frees look at one place and at nothing else. In a program whose
 * blocks stay, places would only be a way round, and there are none (hl_live_look).
 *
 * The others lie packed in a pool. An index leads from an address to its entry: cache lines of
 * seven slots with a byte of each slot's tag, so that one comparison asks all seven. The blocks of
 * 256 bytes of the heap share a line, or of fewer where blocks are small and dense, and those of a
 * page lie side by side, since what was made together mostly dies together. Who finds his line full
 * tries others, a different row of them for each tag: with slots in one row, allocators that pack
 * small blocks densely made runs of hundreds of full ones. So a hash table spread over all of
 * memory, which costs a miss for each event and a cleared page for each few blocks, is only as
 * large as it must be.
 *
 * The index grows without ever stopping: the new one takes all inserts while each insert moves a
 * few lines of the old one, so no single event pays for a doubling (a doubling in one go stalls for
 * longer than the rings hold).
 */
#ifndef HL_COLLECT_LIVE_H
#define HL_COLLECT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/hash.h"
#include "util/vec.h"

/* Filled and read word by word where it lies: a wide load of what was just stored in words stalls.
 */
struct hl_live_entry {
	uint64_t addr;
	uint64_t ordinal_thread; /* ordinal << 24 | thread */
	uint64_t size_birth; /* size << 16 | bits 32..47 of the birth, in units of 64 ns; bit 63:
				it is in the filter */
	uint64_t birth_node; /* bits 0..31 of the birth << 32 | number of its rate << 26 | node */
};
_Static_assert(sizeof(struct hl_live_entry) == 32, "two a cache line");

#define HL_LIVE_SLOTS 7u

/*
 * A cache line of the index. A slot: what the index knows of the address << 32 | number of the
 * entry + 1; 0: empty. `prints` has a byte for each slot, 0 if it is empty. Its eighth byte counts
 * the blocks that found this line full and lie further on: a search goes on only where there are
 * some. At 255 it stays.
 */
struct hl_live_line {
	uint64_t slots[HL_LIVE_SLOTS];
	uint64_t prints;
};
_Static_assert(sizeof(struct hl_live_line) == 64, "a cache line");

struct hl_live_index {
	struct hl_live_line *lines;
	uint64_t mask, count; /* count: blocks in it */
	uint64_t full;        /* blocks at which a larger one is made */
	uint64_t passed;      /* blocks that found their line full, since it was made */
	unsigned shift;       /* 64 - log2(lines) */
	unsigned part;        /* log2 of how many times 16 bytes of the heap share a line */
	int fd;               /* of the unlinked file behind it, or -1 */
};

#define HL_LIVE_SEGMENT_BITS 16u

/* Two MiB of entries, and room for the numbers of as many that are nobody's. Apart: Linux puts in
 * large pages only what is as long as some of them. */
struct hl_live_segment {
	struct hl_live_entry *entries;
	uint32_t *spare;
};

/*
 * Numbers that were given back lie on a stack of their own, not in a list through the entries: the
 * next one would be known only when the last is here, and it is far away as often as not.
 */
struct hl_live_pool {
	HL_VEC(struct hl_live_segment) segments;
	uint32_t used;   /* entries that were given out at least once */
	uint32_t spares; /* numbers + 1 on the stack */
	int fd;          /* of the unlinked file behind the segments that memory should not hold */
};

#define HL_LIVE_PLACE_BITS  16u
#define HL_LIVE_PLACES      (1u << HL_LIVE_PLACE_BITS)
#define HL_LIVE_PAGE_PLACES 128u /* in a page of 4 KiB */
#define HL_LIVE_PLACE_PAGES (HL_LIVE_PLACES / HL_LIVE_PAGE_PLACES)

struct hl_live {
	struct hl_live_entry *places;  /* HL_LIVE_PLACES of them, or NULL */
	struct hl_live_index now, old; /* of the others; old.lines: NULL unless growing */
	uint64_t moved;                /* lines of old that are done */
	struct hl_live_pool pool;
	/* The last one that was found: its place, or its slot in an index. */
	struct hl_live_entry *found_place;
	struct hl_live_index *found_in;
	uint64_t *found;
	uint64_t births, deaths;
	/* Since the last look at whether places pay. */
	uint64_t looked_births, looked_deaths; /* as they were then */
	uint32_t pushed;                       /* blocks that had to leave their place */
	uint32_t young;                        /* while there are none: deaths soon after birth */
	uint32_t good_looks, patience; /* how often they would have paid in a row, and must */
	size_t memory_limit;           /* what is above this lies in an unlinked file */
	int dir_fd;                    /* in this folder */
	/* A bit for each page of places that a block was inserted in: most processes are small, and
	 * a walk over all pages would make them resident. */
	uint64_t place_pages[HL_LIVE_PLACE_PAGES / 64];
};

/* Blocks lie from the first of these to below the second: other addresses have other uses here. */
#define HL_LIVE_LOWEST UINT64_C(2)
#define HL_LIVE_END    (UINT64_C(1) << 63)

static inline bool hl_live_is_address(uint64_t addr)
{
	return addr - HL_LIVE_LOWEST < HL_LIVE_END - HL_LIVE_LOWEST;
}

int hl_live_init(struct hl_live *l, size_t memory_limit, int dir_fd);
void hl_live_fini(struct hl_live *l);

static inline uint64_t hl_live_blocks(const struct hl_live *l)
{
	return l->births - l->deaths;
}

/* --- places --- */

/* Those of one MiB of the heap lie side by side, so that a small heap touches few pages. */
static inline struct hl_live_entry *hl_live_place(const struct hl_live *l, uint64_t addr)
{
	uint64_t near = addr >> 4, far = near >> HL_LIVE_PLACE_BITS;

	return &l->places[(near + (far * HL_HASH_K >> (64 - HL_LIVE_PLACE_BITS))) &
			  (HL_LIVE_PLACES - 1)];
}

/* Is it a block, or nothing, or what one has left behind? */
static inline bool hl_live_is_alive(const struct hl_live_entry *place)
{
	return place->addr - 1 < HL_LIVE_END - 1;
}

/* The usual birth. False: it takes hl_live_insert(), if nothing lives there. */
hl_inline bool hl_live_revive(struct hl_live *l, struct hl_live_entry *place, uint64_t addr)
{
	if (hl_unlikely(place->addr != ~addr))
		return false;
	place->addr = addr;
	l->births++;
	return true;
}

/* The block at this place goes; what is known of it can still be read. */
hl_inline void hl_live_die(struct hl_live *l, struct hl_live_entry *place)
{
	place->addr = ~place->addr;
	l->deaths++;
}

/* Without places: a block dies that was the newest so many births ago. Would it have had one? */
hl_inline void hl_live_note_age(struct hl_live *l, uint64_t age)
{
	l->young += age < HL_LIVE_PLACES / 4;
}

/* Do places pay? To be asked now and then, when no line of the index and no entry is held on to:
 * both may lie elsewhere afterwards. */
#define HL_LIVE_LOOK (1u << 17)
void hl_live_turn(struct hl_live *l);
hl_inline void hl_live_look(struct hl_live *l)
{
	if (hl_unlikely(l->births + l->deaths - l->looked_births - l->looked_deaths > HL_LIVE_LOOK))
		hl_live_turn(l);
}

/* --- the pool and its index --- */

#define HL_LIVE_IN_SEGMENT ((1u << HL_LIVE_SEGMENT_BITS) - 1)

static inline struct hl_live_entry *hl_live_at(const struct hl_live_pool *p, uint32_t i)
{
	return &p->segments.data[i >> HL_LIVE_SEGMENT_BITS].entries[i & HL_LIVE_IN_SEGMENT];
}

/* The place on the stack with this number. */
static inline uint32_t *hl_live_spare(const struct hl_live_pool *p, uint32_t i)
{
	return &p->segments.data[i >> HL_LIVE_SEGMENT_BITS].spare[i & HL_LIVE_IN_SEGMENT];
}

/* What the index keeps of an address: enough to tell the blocks of 64 GiB apart. */
static inline uint32_t hl_live_tag(uint64_t addr)
{
	return (uint32_t)(addr >> 4);
}

/* Where the search for a tag begins: what is 16 parts long is spread, the parts of one follow in
 * their order. */
static inline uint64_t hl_live_home(const struct hl_live_index *t, uint32_t tag)
{
	uint64_t far = tag >> t->part >> 4, near = tag >> t->part & 15;

	return ((far * HL_HASH_K >> t->shift) + near) & t->mask;
}

/* A byte that tells blocks of one line apart where it can; never 0. */
static inline uint64_t hl_live_print(uint32_t tag)
{
	return ((tag ^ tag >> 9) << 1 & 255) | 1;
}

/* The high bit of each byte of w that is 0; also of some that are 1, but only above one that is 0.
 */
static inline uint64_t hl_live_zeros(uint64_t w)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return (w - ones) & ~w & ones << 7;
}

#define HL_LIVE_PASSED (UINT64_C(255) << 56)

/*
 * The slots of a line that may be of this tag, as high bits of their bytes. Without a branch: where
 * in the line a block lies, nobody can foresee.
 */
static inline uint64_t hl_live_match(const struct hl_live_line *line, uint32_t tag)
{
	uint64_t wanted = hl_live_print(tag) * UINT64_C(0x0101010101010101);

	return hl_live_zeros((line->prints ^ wanted) | HL_LIVE_PASSED);
}

/* Of the slots that a match shows, the first. */
static inline uint32_t hl_live_first(uint64_t match)
{
	return (uint32_t)__builtin_ctzll(match) / 8;
}

/* The line of the index that addr is looked up in first, until the index is another. */
hl_inline struct hl_live_line *hl_live_line(const struct hl_live *l, uint64_t addr)
{
	return &l->now.lines[hl_live_home(&l->now, hl_live_tag(addr))];
}

/* Some time after its line was fetched: fetches the entry, if it is where it is mostly found, and
 * tells it; what is in it can be asked some time later. NULL: it is not there. */
hl_inline const struct hl_live_entry *hl_live_prefetch_entry(
	const struct hl_live *l, uint64_t addr, const struct hl_live_line *line)
{
	uint32_t tag = hl_live_tag(addr), number;
	const struct hl_live_entry *e;
	uint64_t match = hl_live_match(line, tag);

	if (!match)
		return NULL;
	number = (uint32_t)line->slots[hl_live_first(match)];
	if (!number)
		return NULL;
	e = hl_live_at(&l->pool, number - 1);
	hl_fetch(e);
	return e;
}

/* Before so many hl_live_insert_home(), or now and then where there are places: if the index is
 * growing, its share of that. */
void hl_live_grow_on(struct hl_live *l, uint32_t n);

/*
 * The usual cases of the four below where there are no places, in a few instructions: the block's
 * home line (hl_live_line) has room for all whose home it is. NULL says nothing: ask those.
 */
hl_inline struct hl_live_entry *hl_live_find_home(
	const struct hl_live *l, uint64_t addr, const struct hl_live_line *line, uint32_t *slot)
{
	uint32_t tag = hl_live_tag(addr);
	uint64_t match = hl_live_match(line, tag);
	struct hl_live_entry *e;

	if (hl_unlikely(!match))
		return NULL;
	*slot = hl_live_first(match);
	if (hl_unlikely(!(uint32_t)line->slots[*slot]))
		return NULL;
	e = hl_live_at(&l->pool, (uint32_t)line->slots[*slot] - 1);
	return hl_likely(e->addr == addr) ? e : NULL;
}

/* The entry with this number, + 1, is nobody's from now on; hl_live_each() goes by its address. */
hl_inline void hl_live_give_back(struct hl_live_pool *p, struct hl_live_entry *e, uint32_t number)
{
	e->addr = 0;
	*hl_live_spare(p, p->spares++) = number;
}

/* What that has found goes. */
hl_inline void hl_live_remove_home(
	struct hl_live *l, struct hl_live_entry *e, struct hl_live_line *line, uint32_t slot)
{
	hl_live_give_back(&l->pool, e, (uint32_t)line->slots[slot]);
	line->slots[slot] = 0;
	line->prints &= ~(UINT64_C(255) << slot * 8);
	l->now.count--;
	l->deaths++;
}

#define HL_LIVE_SOON 4u /* an entry is fetched when so many others come before it */

/* The number of an entry that nobody uses, + 1; 0: there is none ready. */
hl_inline uint32_t hl_live_ready_entry(struct hl_live_pool *p)
{
	if (hl_likely(p->spares > 0)) {
		uint32_t top = --p->spares;

		if (top >= HL_LIVE_SOON)
			hl_fetch(hl_live_at(p, *hl_live_spare(p, top - HL_LIVE_SOON) - 1));
		return *hl_live_spare(p, top);
	}
	return p->used < p->segments.len << HL_LIVE_SEGMENT_BITS ? ++p->used : 0;
}

/* A slot that is empty becomes this one. */
hl_inline void hl_live_fill(
	struct hl_live_index *t, struct hl_live_line *line, uint32_t i, uint64_t slot)
{
	line->slots[i] = slot;
	line->prints |= hl_live_print((uint32_t)(slot >> 32)) << i * 8;
	t->count++;
}

/* While the index grows: certainly none of this tag is left in the old one. */
hl_inline bool hl_live_moved(const struct hl_live *l, uint32_t tag)
{
	const struct hl_live_line *line = &l->old.lines[hl_live_home(&l->old, tag)];

	return !hl_live_match(line, tag) && !(line->prints & HL_LIVE_PASSED);
}

/* The entry of an address that is not live, to be filled; NULL also when it may be live. */
hl_inline struct hl_live_entry *hl_live_insert_home(
	struct hl_live *l, uint64_t addr, struct hl_live_line *line)
{
	uint32_t tag = hl_live_tag(addr), number;
	uint64_t prints = line->prints, empty = hl_live_zeros(prints | HL_LIVE_PASSED);
	struct hl_live_entry *e;

	if (hl_unlikely(hl_live_match(line, tag) || prints & HL_LIVE_PASSED || !empty ||
			l->now.count >= l->now.full || (l->old.lines && !hl_live_moved(l, tag))))
		return NULL;
	number = hl_live_ready_entry(&l->pool);
	if (hl_unlikely(!number))
		return NULL;
	e = hl_live_at(&l->pool, number - 1);
	hl_live_fill(&l->now, line, hl_live_first(empty), (uint64_t)tag << 32 | number);
	l->births++;
	e->addr = addr;
	return e;
}

/* NULL when addr is not live. */
struct hl_live_entry *hl_live_find(struct hl_live *l, uint64_t addr);
/* addr is not live. An entry with addr, the rest of it to be filled, good until the next insert;
 * NULL: out of memory. */
struct hl_live_entry *hl_live_insert(struct hl_live *l, uint64_t addr);
/* What hl_live_find has just found goes. */
void hl_live_remove_found(struct hl_live *l);
/* Takes it out; false when it is not there. */
bool hl_live_take(struct hl_live *l, uint64_t addr, struct hl_live_entry *out);
/* The same, to change what is no part of the address. */
void hl_live_change_each(
	struct hl_live *l, void (*fn)(void *arg, struct hl_live_entry *), void *arg);
/* Each block once, in no order. */
void hl_live_each(
	const struct hl_live *l, void (*fn)(void *arg, const struct hl_live_entry *), void *arg);

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
#define HL_LIVE_NODE_MASK ((1u << 26) - 1) /* all of them set: no node */
#define HL_LIVE_RATES     63u
#define HL_LIVE_RATE_MASK (UINT64_C(63) << 26)

static inline uint64_t hl_live_size(const struct hl_live_entry *e)
{
	return (e->size_birth & ~HL_LIVE_FILTERED) >> 16;
}

static inline uint64_t hl_live_birth_ns(const struct hl_live_entry *e)
{
	return ((e->size_birth & 0xffff) << 32 | e->birth_node >> 32) * 64;
}

static inline uint32_t hl_live_node(const struct hl_live_entry *e)
{
	uint32_t node = e->birth_node & HL_LIVE_NODE_MASK;

	return node == HL_LIVE_NODE_MASK ? UINT32_MAX : node;
}

/* 0: the block stands for itself alone; else the number of the rate that it was sampled with. */
static inline uint32_t hl_live_rate(const struct hl_live_entry *e)
{
	return (uint32_t)e->birth_node >> 26;
}

/* It stands for itself alone, and no filter knows it. */
static inline bool hl_live_is_plain(const struct hl_live_entry *e)
{
	return !(e->size_birth >> 63 | (e->birth_node & HL_LIVE_RATE_MASK));
}

#endif
