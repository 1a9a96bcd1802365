/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_builder_internal.h - the state of a tree that is being built, and the steps that both
 * directions share: tree.c goes inwards, tree_inverted.c goes outwards.
 *
 * Functions return 0 or -errno.
 */
#ifndef HL_MODEL_STACK_TREE_BUILDER_INTERNAL_H
#define HL_MODEL_STACK_TREE_BUILDER_INTERNAL_H

#include "model/stack/runtime_frames.h"
#include "model/stack/tree.h"
#include "util/pair_map.h"
#include "util/vec.h"

/* A run of recorded nodes that have only folded frames, from one node outwards. */
struct hl_tree_run {
	uint32_t frames; /* 0: not known, or no such run */
	uint32_t last;   /* its outermost node */
	uint32_t outer;  /* its outermost frame */
	bool known;
};

/* Where the outermost frame of opts->from is in the stack of a recorded node. */
struct hl_tree_start {
	uint32_t node; /* HL_NODE_NONE: nowhere */
	uint32_t left; /* as in struct hl_tree_walker */
	bool known;
};

struct hl_tree_builder {
	struct hl_model *m;
	const struct hl_tree_opts *opts;
	HL_VEC(struct hl_tree_node) nodes;
	struct hl_pair_map by_parent; /* (parent, frame) -> node */
	uint32_t *innermost;          /* per recorded node: its innermost tree node */
	struct hl_pair_map in_group;  /* grouped: (recorded node, group's node) -> tree node */
	HL_VEC(uint32_t) path;        /* recorded nodes from a stack's innermost frame outwards */
	struct hl_runtime_frames runtime; /* frames before main, which are omitted */
	uint32_t long_steps;
	struct hl_pair_map families;   /* frame -> the frame of its family */
	bool whole;                    /* the current stack is shown with all its frames */
	uint32_t *run_lengths;         /* fold: per recorded node, of the run that it ends in */
	struct hl_pair_map group_runs; /* the same by (recorded node, group's node) */
	struct hl_tree_run *memo;      /* fold, inverted: per recorded node */
	struct hl_tree_start *starts;  /* from, inverted: per recorded node */
};

/* Finds or adds the child of a tree node that is this frame. */
int hl_tree_find_or_add_child(
	struct hl_tree_builder *b, uint32_t parent, struct hl_frame_ref ref, uint32_t *out);
/* Is the frame of the function that stacks begin at? */
bool hl_tree_begins_at(struct hl_tree_builder *b, uint32_t frame);
/* Is the frame a part of a run? Never while b->whole is set. */
int hl_tree_is_folded(struct hl_tree_builder *b, uint32_t frame, bool *folded);
/* The frame that stands for runs with this outermost frame. */
int hl_tree_find_family(struct hl_tree_builder *b, uint32_t frame, uint32_t *family);
/* Adds a run of `frames` frames, or this many frames more to one that has begun. */
int hl_tree_find_or_add_run(
	struct hl_tree_builder *b, uint32_t parent, uint32_t outer, uint32_t frames, uint32_t *out);
/* Moves *at to the node of the function that the stack called, if it is known. */
int hl_tree_add_call(struct hl_tree_builder *b, uint32_t node, uint32_t *at);
void hl_tree_add_self(struct hl_tree_builder *b, uint32_t at, const struct hl_value *v);

/* The number that siblings are ordered by. */
static inline uint64_t hl_tree_order_value(const struct hl_value *v, bool by_blocks)
{
	return by_blocks ? v->blocks : v->bytes;
}

/* --- tree_inverted.c --- */

/* A stack that is followed from its innermost frame outwards. */
struct hl_tree_walker {
	uint32_t node;  /* the recorded node */
	uint32_t left;  /* frames of that node not visited yet */
	uint32_t at;    /* the tree node */
	uint32_t chain; /* frames since the last branch */
	bool whole;     /* frames before main are not omitted */
	uint32_t via;   /* see struct hl_tree_node; of the first step */
	bool begun;
	struct hl_value v;
};
/* Begins the stack of a recorded node below the tree node `at`. */
int hl_tree_start_walker(struct hl_tree_builder *b, struct hl_tree_walker *w, uint32_t node,
	uint32_t at, const struct hl_value *v);
/* Follows all stacks to their ends. The walkers are changed. */
int hl_tree_walk_outwards(struct hl_tree_builder *b, struct hl_tree_walker *walkers, size_t n);
/* Adds all stacks of an answer. */
int hl_tree_add_inverted(struct hl_tree_builder *b, const struct hl_answer *a);

#endif
