/*
 * calltree.h - the call tree of one process: (parent, module, offset) to a small number.
 *
 * Return addresses come in as pcs; the modules loaded at that moment turn them into (module,
 * offset), so a library that is unloaded and loaded elsewhere keeps its nodes, and another one at
 * the same addresses gets its own.
 */
#ifndef HL_COLLECT_CALLTREE_H
#define HL_COLLECT_CALLTREE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "util/vec.h"

struct hl_range {
	uint64_t start, end, bias;
	uint32_t module;
};

struct hl_calltree {
	HL_VEC(struct hl_range) ranges; /* sorted by start, disjoint */
	/* pc -> frame id; emptied when the ranges change */
	struct { uint64_t pc; uint32_t frame; } *pcs;
	uint64_t pc_mask, n_pcs;
	/* (module, offset) -> frame id */
	HL_VEC(struct hl_node) frames;  /* parent unused */
	uint32_t *frame_index;
	uint64_t frame_mask;
	/* (parent, frame) -> node id */
	struct { uint32_t parent, frame, node; } *nodes;
	uint64_t node_mask;
	uint32_t n_nodes;
	/* Told of each new node, in order. */
	int (*on_node)(void *arg, const struct hl_node *node);
	void *arg;
};

int hl_calltree_init(struct hl_calltree *t, int (*on_node)(void *, const struct hl_node *), void *arg);
void hl_calltree_fini(struct hl_calltree *t);

/* A module now lies at [start, end); whatever overlapped it is gone. */
int hl_calltree_map(struct hl_calltree *t, const struct hl_range *range);

/* The child of `parent` (HL_NODE_NONE: an outermost frame) at pc. 0 or -errno. */
int hl_calltree_child(struct hl_calltree *t, uint32_t parent, uint64_t pc, uint32_t *node);

#endif
