/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_table.h - a block with its allocation and its free, as all queries that need events see it,
 * and a table of blocks.
 */
#ifndef HL_MODEL_SCAN_BLOCK_TABLE_H
#define HL_MODEL_SCAN_BLOCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When an event happened, relative to the range of the query. */
enum hl_range_phase {
	HL_RANGE_BEFORE,
	HL_RANGE_IN,
	HL_RANGE_AFTER,
	HL_RANGE_NEVER, /* of a free: not in the events that were read */
};

struct hl_block {
	uint64_t ordinal, addr, size;
	uint64_t blocks, bytes;     /* 1 and size; more if the block is a sample */
	uint64_t alloc_ns, free_ns; /* of its allocation and its free; free_ns is UINT64_MAX if no
					free is known */
	uint32_t node, thread;
	uint32_t tag;         /* of its allocation, or HL_TAG_NONE */
	uint32_t pool;        /* the program's own pool; UINT32_MAX: it is a block of the heap */
	uint32_t free_thread; /* the thread that freed it */
	uint32_t free_node;   /* the stack that freed it; HL_NODE_NONE: not known */
	uint8_t func;         /* the function that allocated it; HL_FUNC_COUNT: not known */
	uint8_t free_func;    /* the function that freed it; all three free_* are set at the free */
	uint8_t alloc_phase, free_phase; /* enum hl_range_phase of the allocation and of the free */
	bool moved;        /* freed by a realloc that made the next block of its chain */
	bool is_temporary; /* freed by the event directly after its allocation */
};

struct hl_block_entry;
struct hl_block_details;
struct hl_block_slot;

/* Live blocks by ordinal. A zeroed table is an empty table. */
struct hl_block_table {
	struct hl_block_slot *slots;
	struct hl_block_entry *entries;   /* dense; unused entries form a list */
	struct hl_block_details *details; /* parallel to entries; NULL while no block needs it */
	size_t cap, len;                  /* slots: cap is 0 or a power of two, len are in use */
	size_t entries_cap, entries_len;
	size_t free_list; /* the first unused entry, plus 1 */
};

/* An upper bound of the memory for each block, at the highest number of blocks in the table. */
#define HL_BLOCKS_ENTRY_BYTES 96

void hl_block_table_fini(struct hl_block_table *t);
/* The ordinal must not be in the table. Returns 0, -EBADMSG for an ordinal that no trace can have,
 * or -ENOMEM. */
int hl_block_table_put(struct hl_block_table *t, const struct hl_block *b);
/* The ordinal will be put or taken soon: prefetch its slot; later, the entry that the slot refers
 * to. */
void hl_block_table_prefetch_slot(const struct hl_block_table *t, uint64_t ordinal);
void hl_block_table_prefetch_entry(const struct hl_block_table *t, uint64_t ordinal);
/* Removes a block and returns it in *b. Returns false if it is not in the table. */
bool hl_block_table_take(struct hl_block_table *t, uint64_t ordinal, struct hl_block *b);
/* Removes all blocks at this address or above. */
void hl_block_table_drop_above(struct hl_block_table *t, uint64_t addr);
/* Iterates over the blocks in any order; *at is 0 before the first. Returns false after the
 * last. */
bool hl_block_table_next(const struct hl_block_table *t, size_t *at, struct hl_block *b);
/* Calls fn for all blocks, lowest ordinal first, until fn returns nonzero. Returns that, 0, or
 * -ENOMEM. */
int hl_block_table_in_order(
	const struct hl_block_table *t, int (*fn)(void *arg, const struct hl_block *b), void *arg);
/* The memory that it uses now. */
size_t hl_block_table_memory(const struct hl_block_table *t);

#endif
