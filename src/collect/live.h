/*
 * live.h - the blocks alive now, by address: what matches a free to its allocation.
 *
 * Open addressing with linear probing, 32 bytes a slot, at most 0.4 full, large ones 0.6. It grows
 * without ever stopping: the new table takes all inserts while each insert moves a few slots of the
 * old one, so no single event pays for a doubling (a doubling in one go stalls for longer than the
 * rings hold).
 */
#ifndef HL_COLLECT_LIVE_H
#define HL_COLLECT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/hash.h"

/* Filled and read word by word where it lies: a wide load of what was just stored in words stalls.
 */
struct hl_live_entry {
	uint64_t addr;
	uint64_t ordinal_thread; /* ordinal << 24 | thread */
	uint64_t size_birth;     /* size << 16 | bits 32..47 of the birth, in units of 64 ns */
	uint64_t birth_node;     /* bits 0..31 of the birth << 32 | node */
};
_Static_assert(sizeof(struct hl_live_entry) == 32, "two a cache line");

struct hl_live_table {
	struct hl_live_entry *slots;
	uint64_t mask, count; /* count: used slots, dead ones of an old table included */
	unsigned shift;       /* 64 - log2(slots) */
	bool by_page;         /* blocks of one page of the heap lie close together */
	int fd;               /* of the unlinked file behind it, or -1 */
};

struct hl_live {
	struct hl_live_table now, old; /* old.slots: NULL unless growing */
	uint64_t moved;                /* slots of old that are done */
	uint64_t blocks;
	size_t memory_limit; /* tables above this lie in an unlinked file */
	int dir_fd;          /* in this folder */
};

/* No block lies below this: the table has other uses for such addresses. */
#define HL_LIVE_LOWEST UINT64_C(2)

int hl_live_init(struct hl_live *l, size_t memory_limit, int dir_fd);
void hl_live_fini(struct hl_live *l);

/*
 * Where the search for addr begins: high bits of a product, which spreads even strides evenly. A
 * table that is in no cache is better off if what dies together lies together: there the page is
 * spread, and its blocks follow each other in steps of the smallest one.
 */
static inline uint64_t hl_live_home(const struct hl_live_table *t, uint64_t addr)
{
	if (hl_unlikely(t->by_page))
		return (((addr >> 12) * HL_HASH_K >> t->shift) + (addr >> 5 & 127)) & t->mask;
	return addr * HL_HASH_K >> t->shift;
}

static inline void hl_live_prefetch(const struct hl_live *l, uint64_t addr)
{
	__builtin_prefetch(&l->now.slots[hl_live_home(&l->now, addr)], 1);
}

/* NULL when addr is not live. Until the next call that changes the table. */
struct hl_live_entry *hl_live_find(struct hl_live *l, uint64_t addr);
/* addr is not live. A slot with addr, the rest of it to be filled; NULL: out of memory. */
struct hl_live_entry *hl_live_insert(struct hl_live *l, uint64_t addr);
/* What hl_live_find has found goes. */
void hl_live_remove(struct hl_live *l, struct hl_live_entry *e);
/* Takes it out; false when it is not there. */
bool hl_live_take(struct hl_live *l, uint64_t addr, struct hl_live_entry *out);
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

static inline uint64_t hl_live_size(const struct hl_live_entry *e)
{
	return e->size_birth >> 16;
}

static inline uint64_t hl_live_birth_ns(const struct hl_live_entry *e)
{
	return ((e->size_birth & 0xffff) << 32 | e->birth_node >> 32) * 64;
}

static inline uint32_t hl_live_node(const struct hl_live_entry *e)
{
	return (uint32_t)e->birth_node;
}

#endif
