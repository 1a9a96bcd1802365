/*
 * calltree.h - the call tree of one process: (parent, module, offset) to a small number.
 *
 * Return addresses come in as pcs; the modules loaded at that moment turn them into (module,
 * offset), so a library that is unloaded and loaded elsewhere keeps its nodes, and another one at
 * the same addresses gets its own.
 *
 * A node that was met is found by a hash of the pcs that lead to it, so of a new stack only the
 * last frame is looked up, however many are new: on large trees each look misses the cache. The
 * frames between have their hash, and their node when somebody asks. Two paths are taken for one
 * when 96 bits are the same by chance: of a million, once in 10^17 programs.
 */
#ifndef HL_COLLECT_CALLTREE_H
#define HL_COLLECT_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "util/vec.h"

/* A path: the hash of its pcs, and the node that it leads to. */
struct hl_step {
	uint64_t hash;
	uint32_t check, node;
};
#define HL_STEP_ROOT ((struct hl_step){0, 0, HL_NODE_NONE})
/* The node of a step that nobody has looked up. */
#define HL_NODE_UNASKED (HL_NODE_NONE - 1)

struct hl_range {
	uint64_t start, end, bias;
	uint32_t module;
};

/* What makes a node: an id of a frame, called by a node. */
struct hl_made {
	uint32_t parent, frame;
};

struct hl_calltree {
	HL_VEC(struct hl_range) ranges; /* sorted by start, disjoint */
	/* Each path that was met -> its node; emptied when pcs that were met stand for others. */
	struct hl_step *edges; /* hash 0: nothing */
	uint64_t edge_mask, n_edges;
	uint64_t epoch;      /* so many times they were */
	unsigned edge_shift; /* 64 - log2 of how many slots */
	/* While the table grows: the one before, half as large. It stays whole until all of it is
	 * in the new one too, which is done in steps: a doubling in one go takes longer than rings
	 * hold. */
	struct hl_step *old_edges;
	uint64_t moved; /* so many slots of it are done */
	/* (module, offset) -> frame id */
	HL_VEC(struct hl_node) frames; /* parent unused */
	uint32_t *frame_index;
	uint64_t frame_mask;
	/* All nodes by number, and of the first `n_indexed` (parent, frame) -> node: those that
	 * edges may not lead to. A step that is neither an edge nor in there makes a new node. */
	HL_VEC(struct hl_made) made;
	uint32_t *node_index;
	uint64_t node_mask;
	uint32_t n_indexed;
	bool twins; /* a module lies at two places: an edge more need not be a node more */
	/* Told of each new node, in order. */
	int (*on_node)(void *arg, const struct hl_node *node);
	void *arg;
};

int hl_calltree_init(
	struct hl_calltree *t, int (*on_node)(void *, const struct hl_node *), void *arg);
void hl_calltree_fini(struct hl_calltree *t);

/* So many nodes there are. */
static inline size_t hl_calltree_nodes(const struct hl_calltree *t)
{
	return t->made.len;
}

/* A module now lies at [start, end); whatever overlapped it is gone. If the epoch is another after
 * this, steps lead nowhere any more; nodes that are known stay what they are. */
int hl_calltree_map(struct hl_calltree *t, const struct hl_range *range);

/*
 * The way from a path, one step further for each of n pcs (the first is the outermost). The last
 * step has its node. 0 or -errno, then steps is not to be used.
 */
int hl_calltree_follow(struct hl_calltree *t, struct hl_step from, const uint64_t *pcs, size_t n,
	struct hl_step *steps);

/* The node of a step that follow has made in this epoch. */
uint32_t hl_calltree_node(const struct hl_calltree *t, struct hl_step *step);

#endif
