/*
 * calltree.h - the call tree of one process: (parent, module, offset) to a small number.
 *
 * Return addresses come in as pcs; the modules loaded at that moment turn them into (module,
 * offset), so a library that is unloaded and loaded elsewhere keeps its nodes, and another one at
 * the same addresses gets its own.
 *
 * Nodes that were met since the modules last changed are found by pc: one look for each new frame.
 * Where to look is told by the hash of all pcs up to the frame, which is known before the parent's
 * number is: so the slots of a new stack's frames are fetched together, not one after the other. On
 * large trees each of them misses the cache.
 */
#ifndef HL_COLLECT_CALLTREE_H
#define HL_COLLECT_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "util/vec.h"

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
	/* path hash -> node by (parent, pc); emptied when the ranges change */
	struct hl_edge {
		uint64_t pc;
		uint32_t parent, node;
	} * edges;
	uint32_t *edge_hashes; /* beside them: only growing asks for these */
	uint64_t edge_mask, n_edges;
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

/* A module now lies at [start, end); whatever overlapped it is gone. */
int hl_calltree_map(struct hl_calltree *t, const struct hl_range *range);

/* A node with the hash of the pcs that led to it. */
struct hl_step {
	uint32_t node, hash;
};
#define HL_STEP_ROOT ((struct hl_step){HL_NODE_NONE, 0})

/*
 * The nodes of a path: `from`, then one step further for each of n pcs (the first is the
 * outermost). 0 or -errno, then steps is not to be used.
 */
int hl_calltree_follow(struct hl_calltree *t, struct hl_step from, const uint64_t *pcs, size_t n,
	struct hl_step *steps);

#endif
