/*
 * block.h - the life of one block, as every question that needs events sees it.
 */
#ifndef HL_MODEL_BLOCK_H
#define HL_MODEL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When something happened, seen from the range that is asked about. */
enum hl_phase {
	HL_PHASE_BEFORE,
	HL_PHASE_IN,
	HL_PHASE_AFTER,
	HL_PHASE_NEVER, /* of a death: not as far as was read */
};

struct hl_block {
	uint64_t ordinal, addr, size;
	uint64_t blocks, bytes;      /* what it stands for: 1 and size, but for a sample */
	uint64_t birth_ns, death_ns; /* death: UINT64_MAX when it is not known to have died */
	uint32_t node, thread;
	uint32_t tag;         /* of its allocation, or HL_TAG_NONE */
	uint32_t pool;        /* of the program's own; of the heap's blocks: none, UINT32_MAX */
	uint32_t free_thread; /* who freed it */
	uint32_t free_node;   /* with what stack; HL_NODE_NONE: not known */
	uint8_t func;         /* who allocated it; HL_FUNC_COUNT when not known */
	uint8_t free_func;    /* by which call: these three are set when it is freed */
	uint8_t born, died;   /* enum hl_phase */
	bool moved;           /* freed by a realloc that made the next block of its chain */
	bool next;            /* freed by the event directly after its allocation */
};

struct hl_block_kept;
struct hl_block_rest;
struct hl_block_slot;

/* Blocks by ordinal, before their death. A zeroed table is an empty one. */
struct hl_blocks {
	struct hl_block_slot *slots;
	struct hl_block_kept *kept; /* dense; those that were taken out are a list */
	struct hl_block_rest *rest; /* of the same places; NULL while no block needs it */
	size_t cap, len;            /* of slots: 0 or a power of two, and how many are in use */
	size_t kept_cap, kept_len;
	size_t hole; /* the list's first place + 1 */
};

/* At most, for each of the most blocks that were in the table at once. */
#define HL_BLOCKS_EACH 96

void hl_blocks_fini(struct hl_blocks *t);
/* The ordinal must not be there yet. 0 or -ENOMEM. */
int hl_blocks_put(struct hl_blocks *t, const struct hl_block *b);
/* It will be put or taken soon: fetches its slot into the cache; and then what the slot names. */
void hl_blocks_expect(const struct hl_blocks *t, uint64_t ordinal);
void hl_blocks_fetch(const struct hl_blocks *t, uint64_t ordinal);
/* Takes it out; false: it was not there. */
bool hl_blocks_take(struct hl_blocks *t, uint64_t ordinal, struct hl_block *b);
/* Takes out all that lie at this address or above. */
void hl_blocks_drop_above(struct hl_blocks *t, uint64_t addr);
/* Those that are left, one after the other: *at is 0 before the first. */
bool hl_blocks_next(const struct hl_blocks *t, size_t *at, struct hl_block *b);
/* The same, the oldest first, until fn says another thing than 0. That, or -ENOMEM. */
int hl_blocks_in_order(
	const struct hl_blocks *t, int (*fn)(void *arg, const struct hl_block *b), void *arg);
/* What it holds now. */
size_t hl_blocks_memory(const struct hl_blocks *t);

#endif
