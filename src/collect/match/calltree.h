/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calltree.h - the call tree of one target: maps (parent, module, offset) to a node.
 *
 * Return addresses arrive as pcs. The modules loaded at that moment turn them into (module,
 * offset), so a library that is unloaded and loaded elsewhere keeps its nodes, and another one at
 * the same addresses gets its own.
 *
 * A known node is found by a hash of the pcs on its path. So only the last frame of a new stack is
 * looked up, however many frames are new: in a large tree each lookup is a cache miss. The frames
 * in between have a hash, and get a node only when one is needed. Two paths are confused when 96
 * bits of hash are equal: among a million paths, once in 10^17 programs.
 */
#ifndef HL_COLLECT_MATCH_CALLTREE_H
#define HL_COLLECT_MATCH_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "util/vec.h"

/* A path: the hash of its pcs, and its node. */
struct hl_path_step {
	uint64_t hash;
	uint32_t check, node;
};
#define HL_PATH_STEP_ROOT ((struct hl_path_step){0, 0, HL_NODE_NONE})
/* The node of a step that was not looked up. */
#define HL_NODE_UNRESOLVED (HL_NODE_NONE - 1)

struct hl_module_range {
	uint64_t start, end, bias;
	uint32_t module;
};

/* The identity of a node: its caller's node and its frame id. */
struct hl_call_edge {
	uint32_t parent, frame;
};

struct hl_calltree {
	HL_VEC(struct hl_module_range) ranges; /* sorted by start, disjoint */
	/* Hash table: path -> node. Cleared when the meaning of a known pc changes. */
	struct hl_path_step *edges; /* hash 0: empty */
	uint64_t edge_mask, n_edges;
	uint64_t epoch;      /* how often the table was cleared */
	unsigned edge_shift; /* 64 - log2(slots) */
	/* While the table grows: the previous table, half as large. It stays complete until all of
	 * it has been copied to the new one. That is done in steps, because a doubling in one step
	 * takes longer than the rings can buffer. */
	struct hl_path_step *old_edges;
	uint64_t n_moved; /* slots of it that have been copied */
	/* (module, offset) -> frame id */
	HL_VEC(struct hl_node) frames; /* parent unused */
	uint32_t *frame_index;
	uint64_t frame_mask;
	/* All nodes by number, and an index (parent, frame) -> node of the first `n_indexed` nodes:
	 * those that may have no edge. A step that is in neither table creates a new node. */
	HL_VEC(struct hl_call_edge) nodes;
	uint32_t *node_index;
	uint64_t node_mask;
	uint32_t n_indexed;
	bool has_duplicates; /* a module is mapped twice: a new edge need not be a new node */
	/* Called for each new node, in order. */
	int (*on_node)(void *arg, const struct hl_node *node);
	void *arg;
};

int hl_calltree_init(
	struct hl_calltree *t, int (*on_node)(void *, const struct hl_node *), void *arg);
void hl_calltree_fini(struct hl_calltree *t);

/* The number of nodes. */
static inline size_t hl_calltree_nodes(const struct hl_calltree *t)
{
	return t->nodes.len;
}

/* A module is now mapped at [start, end); ranges that overlap it are removed. If this changes the
 * epoch, existing steps are void; nodes stay valid. 0 or -errno. */
int hl_calltree_map(struct hl_calltree *t, const struct hl_module_range *range);

/* Extends a path by n pcs, outermost first: steps[i] is the path with i + 1 of them. The node of
 * the last step is known. 0 or -errno; then the contents of steps are undefined. */
int hl_calltree_follow(struct hl_calltree *t, struct hl_path_step from, const uint64_t *pcs,
	size_t n, struct hl_path_step *steps);

/* Returns the node of a step that hl_calltree_follow() made in this epoch. */
uint32_t hl_calltree_node(const struct hl_calltree *t, struct hl_path_step *step);

#endif
