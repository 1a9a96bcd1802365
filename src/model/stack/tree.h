/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - an answer by stack as a tree of frames, from either end.
 *
 * Child frames of one parent with the same function, file, line and module are one node. The total
 * of a node is its own value plus the totals of its children. The called function of the malloc
 * family is a frame too, the innermost one.
 *
 * With `fold`, a run of plumbing and wrappers (stack_rules.h) is one node, "[6 frames of
 * std::map]". Runs below one parent that belong to the same family are the same node, and the
 * number is that of the longest. A run of one frame is that frame. An inverted tree then begins at
 * the sites (site.h): what is inside of them is not shown, but `via` names it. Totals are those of
 * the unfolded tree.
 */
#ifndef HL_MODEL_STACK_TREE_H
#define HL_MODEL_STACK_TREE_H

#include "model/query/query.h"

struct hl_grouped_stacks;

struct hl_tree_node {
	uint32_t parent;      /* less than the index of this node */
	uint32_t frame;       /* for hl_model_frame; not set for node 0 */
	uint32_t first_child; /* index in children */
	uint32_t n_children;
	struct hl_value self, total;
	bool inlined; /* all frames of this node are inlined; one real call makes it false */
	bool callers_omitted; /* inverted: callers of some blocks are omitted here, see tree.c */
	bool full_name;       /* show full names: with short names a sibling looks the same */
	uint32_t depth;       /* inverted: the number of branches on the path from the root */
	uint32_t folded;      /* frames of a run; 0: a frame */
	uint32_t
		outer; /* of a run, while it is built: its outermost frame; HL_NODE_NONE: several */
	uint32_t via;  /* inverted, of a site: the frame of what it called; HL_NODE_NONE: it is not
			  the same for all blocks, or the malloc family */
	struct hl_value site; /* with_sites: the part of total whose site is this frame */
};

struct hl_tree {
	struct hl_tree_node *nodes; /* nodes[0] is the root, which is not a frame */
	uint32_t n_nodes;
	uint32_t *children; /* largest first by bytes, then blocks (or the reverse), then by name */
};

struct hl_tree_opts {
	bool inverted;      /* the called function is outermost, its callers are below it */
	bool by_blocks;     /* sort and compare by blocks instead of bytes */
	uint64_t min_value; /* inverted: nodes with less than this need no children */
	uint32_t depth;     /* inverted: nodes deeper than this need no children; 0: no limit */
	bool with_called_functions; /* include the called functions, see
				       hl_model_find_called_functions */
	bool fold;                  /* see above; not together with called functions */
	bool with_sites;            /* not inverted, nothing omitted: fill `site` */
	bool omit_runtime_frames;   /* omit frames before main (runtime_frames.h) if a stack has
				       others */
	const char *from; /* each stack begins at its outermost frame of this function; inverted:
			     it has only that frame and its callers. Not with `with_sites`.
			     Stacks without it have no frames. NULL: whole stacks */
};

int hl_tree_build(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a,
	const struct hl_tree_opts *opts);
/* The same for an answer by group: the outermost frames are the groups. The subtree of a group is
 * the tree of that group alone. */
int hl_tree_build_grouped(struct hl_tree *t, struct hl_model *m, const struct hl_grouped_stacks *d,
	const struct hl_tree_opts *opts);
void hl_tree_fini(struct hl_tree *t);

/* Finds the called functions of the stacks that have a value, from a small part of the trace: some
 * may stay unknown. Returns 0 or -errno. */
int hl_model_find_called_functions(struct hl_model *m, const struct hl_answer *a);
/* Sets *frame to the frame of the called function, after hl_model_find_called_functions.
 * HL_NODE_NONE for blocks without a stack. */
int hl_model_called_function_frame(struct hl_model *m, uint32_t node, uint32_t *frame);
/* "malloc", "operator new" */
const char *hl_called_function_name(unsigned func);

#endif
