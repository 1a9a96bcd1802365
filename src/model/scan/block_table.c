/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_table.c - the table of live blocks while events are read; see block_table.h.
 *
 * A heap may have millions of live blocks, so an entry is small. Data that most blocks do not have
 * (a weight, a pool) is in a parallel array, which exists only once a block needs it. A hash table
 * of slots leads to the entries: linear probing, at most three quarters full. A removal moves later
 * slots back instead of leaving a tombstone, so that the table is never larger than the highest
 * number of live blocks requires. Consecutive ordinals share one cache line of slots, because
 * blocks that are allocated together are often the only live ones and are often freed together.
 */
#include "model/scan/block_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"

#define FREE_ENTRY UINT64_MAX
#define LINE_SLOTS 8u /* slots in a cache line */

struct hl_block_entry {
	uint64_t ordinal; /* FREE_ENTRY: unused, and addr is the next unused entry */
	uint64_t addr, size, alloc_ns;
	uint32_t node, thread, tag;
	uint8_t func, alloc_phase;
	bool details;
};

struct hl_block_details {
	uint64_t blocks, bytes;
	uint32_t pool;
};

struct hl_block_slot {
	uint32_t index;       /* of the entry, plus 1; 0: the slot is free */
	uint32_t ordinal_low; /* low half of the ordinal: most mismatches are found without reading
				 the entry */
};

/* At least three eighths of the slots are used, except in the smallest table. */
_Static_assert(sizeof(struct hl_block_entry) + sizeof(struct hl_block_details) +
			       sizeof(struct hl_block_slot) * 8 / 3 <=
		       HL_BLOCKS_ENTRY_BYTES,
	"what a block takes");

void hl_block_table_fini(struct hl_block_table *t)
{
	free(t->slots);
	free(t->entries);
	free(t->details);
	memset(t, 0, sizeof(*t));
}

size_t hl_block_table_memory(const struct hl_block_table *t)
{
	return t->cap * sizeof(*t->slots) + t->entries_len * sizeof(*t->entries) +
	       (t->details ? t->entries_len * sizeof(*t->details) : 0);
}

/* The low half of the ordinal is enough: a slot has it, so moving slots needs no entry. */
static size_t home_slot(const struct hl_block_table *t, uint32_t ordinal)
{
	return (hl_hash_u64(ordinal / LINE_SLOTS) * LINE_SLOTS + ordinal % LINE_SLOTS) &
	       (t->cap - 1);
}

static void link_slot(struct hl_block_table *t, uint64_t ordinal, size_t index)
{
	size_t i = home_slot(t, (uint32_t)ordinal);

	while (t->slots[i].index != 0)
		i = (i + 1) & (t->cap - 1);
	t->slots[i] = (struct hl_block_slot){
		.index = (uint32_t)index + 1, .ordinal_low = (uint32_t)ordinal};
}

static void rebuild_slots(struct hl_block_table *t)
{
	for (size_t i = 0; i < t->entries_len; i++) {
		if (t->entries[i].ordinal != FREE_ENTRY)
			link_slot(t, t->entries[i].ordinal, i);
	}
}

static int grow_slots(struct hl_block_table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 1024;

	free(t->slots); /* the slots can be rebuilt from the entries */
	t->slots = calloc(cap, sizeof(*t->slots));
	t->cap = t->slots ? cap : 0;
	if (!t->slots)
		return -ENOMEM;
	rebuild_slots(t);
	return 0;
}

static int grow_details(struct hl_block_table *t)
{
	struct hl_block_details *details = realloc(t->details, t->entries_cap * sizeof(*details));

	if (!details)
		return -ENOMEM;
	t->details = details;
	return 0;
}

static int grow_entries(struct hl_block_table *t)
{
	size_t cap = t->entries_cap ? t->entries_cap * 2 : 1024;
	struct hl_block_entry *entries =
		cap < UINT32_MAX ? realloc(t->entries, cap * sizeof(*entries)) : NULL;

	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	t->entries_cap = cap;
	return t->details ? grow_details(t) : 0;
}

static size_t alloc_entry(struct hl_block_table *t)
{
	size_t index = t->entries_len;

	if (t->free_list == 0) {
		t->entries_len++;
		return index;
	}
	index = t->free_list - 1;
	t->free_list = t->entries[index].addr;
	return index;
}

int hl_block_table_put(struct hl_block_table *t, const struct hl_block *b)
{
	bool details = b->blocks != 1 || b->bytes != b->size || b->pool != UINT32_MAX;
	size_t index;
	int err = 0;

	if (b->ordinal == FREE_ENTRY)
		return -EBADMSG;
	if (t->len * 4 >= t->cap * 3)
		err = grow_slots(t);
	if (!err && t->free_list == 0 && t->entries_len == t->entries_cap)
		err = grow_entries(t);
	if (!err && details && !t->details)
		err = grow_details(t);
	if (err)
		return err;
	index = alloc_entry(t);
	t->entries[index] = (struct hl_block_entry){.ordinal = b->ordinal,
		.addr = b->addr,
		.size = b->size,
		.alloc_ns = b->alloc_ns,
		.node = b->node,
		.thread = b->thread,
		.tag = b->tag,
		.func = b->func,
		.alloc_phase = b->alloc_phase,
		.details = details};
	if (details)
		t->details[index] = (struct hl_block_details){
			.blocks = b->blocks, .bytes = b->bytes, .pool = b->pool};
	link_slot(t, b->ordinal, index);
	t->len++;
	return 0;
}

static void get_block(const struct hl_block_table *t, size_t index, struct hl_block *b)
{
	const struct hl_block_entry *k = &t->entries[index];

	*b = (struct hl_block){.ordinal = k->ordinal,
		.addr = k->addr,
		.size = k->size,
		.blocks = k->details ? t->details[index].blocks : 1,
		.bytes = k->details ? t->details[index].bytes : k->size,
		.alloc_ns = k->alloc_ns,
		.free_ns = UINT64_MAX,
		.node = k->node,
		.thread = k->thread,
		.tag = k->tag,
		.pool = k->details ? t->details[index].pool : UINT32_MAX,
		.free_node = UINT32_MAX,
		.func = k->func,
		.alloc_phase = k->alloc_phase,
		.free_phase = HL_RANGE_NEVER};
}

/* Moves later slots of the probe sequence into the hole, so that no lookup stops before them. */
static void close_hole(struct hl_block_table *t, size_t hole)
{
	size_t mask = t->cap - 1;

	for (size_t i = (hole + 1) & mask; t->slots[i].index != 0; i = (i + 1) & mask) {
		if (((i - home_slot(t, t->slots[i].ordinal_low)) & mask) >= ((i - hole) & mask)) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	}
	t->slots[hole].index = 0;
}

void hl_block_table_prefetch_slot(const struct hl_block_table *t, uint64_t ordinal)
{
	if (t->cap > 0)
		hl_prefetch_write(&t->slots[home_slot(t, (uint32_t)ordinal)]);
}

void hl_block_table_prefetch_entry(const struct hl_block_table *t, uint64_t ordinal)
{
	const struct hl_block_slot *s;

	if (t->cap == 0)
		return;
	s = &t->slots[home_slot(t, (uint32_t)ordinal)];
	if (s->index != 0 && s->ordinal_low == (uint32_t)ordinal)
		hl_prefetch_write(&t->entries[s->index - 1]);
}

static void release_entry(struct hl_block_table *t, size_t index)
{
	t->entries[index].ordinal = FREE_ENTRY;
	t->entries[index].addr = t->free_list;
	t->free_list = index + 1;
	t->len--;
}

bool hl_block_table_take(struct hl_block_table *t, uint64_t ordinal, struct hl_block *b)
{
	size_t mask = t->cap - 1, index;

	if (t->len == 0 || ordinal == FREE_ENTRY)
		return false;
	for (size_t i = home_slot(t, (uint32_t)ordinal); t->slots[i].index != 0;
		i = (i + 1) & mask) {
		index = t->slots[i].index - 1;
		if (t->slots[i].ordinal_low != (uint32_t)ordinal ||
			t->entries[index].ordinal != ordinal)
			continue;
		get_block(t, index, b);
		close_hole(t, i);
		release_entry(t, index);
		return true;
	}
	return false;
}

void hl_block_table_drop_above(struct hl_block_table *t, uint64_t addr)
{
	for (size_t i = 0; i < t->entries_len; i++) {
		if (t->entries[i].ordinal != FREE_ENTRY && t->entries[i].addr >= addr)
			release_entry(t, i);
	}
	/* For many removals at once, rebuilding is cheaper than closing each hole. */
	if (t->slots)
		memset(t->slots, 0, t->cap * sizeof(*t->slots));
	rebuild_slots(t);
}

bool hl_block_table_next(const struct hl_block_table *t, size_t *at, struct hl_block *b)
{
	while (*at < t->entries_len && t->entries[*at].ordinal == FREE_ENTRY)
		++*at;
	if (*at == t->entries_len)
		return false;
	get_block(t, (*at)++, b);
	return true;
}

static int compare_ordinals(const void *pa, const void *pb, void *arg)
{
	const struct hl_block_entry *entries = arg;
	uint64_t a = entries[*(const uint32_t *)pa].ordinal,
		 b = entries[*(const uint32_t *)pb].ordinal;

	return (a > b) - (a < b);
}

int hl_block_table_in_order(
	const struct hl_block_table *t, int (*fn)(void *arg, const struct hl_block *b), void *arg)
{
	uint32_t *indexes = t->len ? malloc(t->len * sizeof(*indexes)) : NULL;
	struct hl_block b;
	size_t n = 0;
	int err = 0;

	if (!indexes)
		return t->len ? -ENOMEM : 0;
	for (size_t i = 0; i < t->entries_len; i++) {
		if (t->entries[i].ordinal != FREE_ENTRY)
			indexes[n++] = (uint32_t)i;
	}
	qsort_r(indexes, n, sizeof(*indexes), compare_ordinals, t->entries);
	for (size_t i = 0; i < n && !err; i++) {
		get_block(t, indexes[i], &b);
		err = fn(arg, &b);
	}
	free(indexes);
	return err;
}
