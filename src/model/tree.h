/*
 * tree.h - an answer as a tree of frames, outermost first.
 *
 * Frames of one parent that have the same function, file, line and module are one node. A node's
 * total is its own and that of all below it; own is what was allocated right there.
 */
#ifndef HL_MODEL_TREE_H
#define HL_MODEL_TREE_H

#include "model/query.h"

struct hl_tree_node {
	uint32_t parent;      /* less than the node's own number */
	uint32_t frame;       /* hl_model_frame; not for node 0 */
	uint32_t first_child; /* in children */
	uint32_t n_children;
	struct hl_value self, total;
	bool inlined; /* wherever it came from; an equal real call makes it false */
};

struct hl_tree {
	struct hl_tree_node *nodes; /* nodes[0] is no frame but the parent of the outermost */
	uint32_t n_nodes;
	uint32_t *children; /* largest first by bytes, then blocks, then by name */
};

int hl_tree_build(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a);
void hl_tree_fini(struct hl_tree *t);

#endif
