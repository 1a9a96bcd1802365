/*
 * tree.h - an answer by stack as a tree of frames, from either end.
 *
 * Frames of one parent that have the same function, file, line and module are one node. A node's
 * total is its own and that of all below it. The function of the malloc family that was called is a
 * frame too: the innermost.
 */
#ifndef HL_MODEL_TREE_H
#define HL_MODEL_TREE_H

#include "model/query.h"

struct hl_divided;

struct hl_tree_node {
	uint32_t parent;      /* less than the node's own number */
	uint32_t frame;       /* hl_model_frame; not for node 0 */
	uint32_t first_child; /* in children */
	uint32_t n_children;
	struct hl_value self, total;
	bool inlined;   /* wherever it came from; an equal real call makes it false */
	bool cut;       /* inverted: of some blocks here the callers are left out, see tree.c */
	bool full;      /* a sibling looks the same unless both are shown with full names */
	uint32_t depth; /* inverted: how often, on the way here, a part went elsewhere */
};

struct hl_tree {
	struct hl_tree_node *nodes; /* nodes[0] is no frame but the parent of the first */
	uint32_t n_nodes;
	uint32_t *children; /* largest first by bytes, then blocks (or the reverse), then by name */
};

struct hl_tree_opts {
	bool inverted;  /* the called function first, its callers below it; else the outermost first
			 */
	bool by_blocks; /* what is large is told by blocks, not by bytes */
	uint64_t least; /* inverted: what has less need not have anything below it */
	uint32_t depth; /* inverted: what is deeper need not have anything below it; 0: no bound */
	bool calls;     /* with the called functions, see hl_model_find_calls */
	bool no_starts; /* without the frames before main, see start.h, but for stacks that have no
			   others */
};

int hl_tree_build(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a,
	const struct hl_tree_opts *opts);
/* Of an answer that is divided: the first frames are its groups, and within each the tree is as it
 * would be of that group alone. */
int hl_tree_build_divided(struct hl_tree *t, struct hl_model *m, const struct hl_divided *d,
	const struct hl_tree_opts *opts);
void hl_tree_fini(struct hl_tree *t);

/* Learns the called function of the stacks that have a number, by reading a small part of the
 * trace: of some it may not be found. 0 or -errno. */
int hl_model_find_calls(struct hl_model *m, const struct hl_answer *a);
/* It as a frame, once learned; HL_NODE_NONE for blocks without a stack. */
int hl_model_call_frame(struct hl_model *m, uint32_t node, uint32_t *frame);
/* "malloc", "operator new" */
const char *hl_call_name(unsigned func);

#endif
