/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_inverted.c - builds a tree that begins at the allocating frames: stacks are followed from
 * the innermost frame outwards.
 *
 * Nothing here is recursive: stacks may be a million frames deep.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/stack/frame_rules.h"
#include "model/stack/site.h"
#include "model/stack/stack_rules.h"
#include "model/stack/tree_builder_internal.h"

/* Inverted trees: a run of frames without a branch that is longer than RUN_SHORT costs long steps.
 * LONG_STEPS_MAX limits their sum. */
#define RUN_SHORT      200u
#define LONG_STEPS_MAX (1u << 22)

static void add_total(struct hl_tree_builder *b, const struct hl_tree_walker *w)
{
	hl_value_add(&b->nodes.data[w->at].total, &w->v);
}

/* A run is named after its outermost frame, but not after callers that could not be unwound. */
static bool names_run(struct hl_tree_builder *b, uint32_t frame)
{
	return !hl_frame_is_end(hl_model_frame(b->m, frame));
}

/* Finds the run of nodes from this one outwards that have only folded frames. */
static int find_run(struct hl_tree_builder *b, uint32_t node, struct hl_tree_run *out)
{
	struct hl_tree_run next = {0};
	bool all = true;
	int err = 0;

	b->path.len = 0;
	while (!err && all && node != HL_NODE_NONE && !b->memo[node].known &&
		!hl_runtime_frames_contain(&b->runtime, node)) {
		const struct hl_frame_ref *refs;
		size_t n;

		err = hl_model_node_frames(b->m, node, &refs, &n);
		for (size_t i = 0; i < n && !err && all; i++)
			err = hl_tree_is_folded(b, refs[i].frame, &all);
		if (!err)
			err = hl_vec_push(&b->path, node);
		node = all ? hl_model_parent(b->m, node) : node;
	}
	if (err)
		return err;
	if (!all) {
		b->memo[b->path.data[--b->path.len]] = (struct hl_tree_run){.known = true};
	} else if (node != HL_NODE_NONE && b->memo[node].known) {
		next = b->memo[node];
	}
	while (b->path.len > 0 && !err) {
		const struct hl_frame_ref *refs;
		size_t n;

		node = b->path.data[--b->path.len];
		err = hl_model_node_frames(b->m, node, &refs, &n);
		if (!err && next.frames == 0)
			next = (struct hl_tree_run){.last = node, .outer = refs[0].frame};
		else if (!err && !names_run(b, next.outer))
			next.outer = refs[0].frame;
		next.frames += err ? 0 : (uint32_t)hl_min_u64(n, UINT32_MAX - next.frames);
		next.known = true;
		b->memo[node] = next;
	}
	*out = next;
	return err;
}

/* Moves a walker over the rest of a run that begins in its node. */
static int skip_run(
	struct hl_tree_builder *b, struct hl_tree_walker *w, uint32_t *outer, uint32_t *frames)
{
	const struct hl_frame_ref *refs;
	struct hl_tree_run run = {0};
	uint32_t parent;
	size_t n;
	bool folded = true;
	int err = 0;

	while (!err) {
		err = hl_model_node_frames(b->m, w->node, &refs, &n);
		while (!err && w->left > 0 && folded) {
			err = hl_tree_is_folded(b, refs[w->left - 1].frame, &folded);
			if (err || !folded)
				break;
			if (*frames == 0 || names_run(b, refs[w->left - 1].frame))
				*outer = refs[w->left - 1].frame;
			w->left--;
			*frames += *frames < UINT32_MAX;
		}
		parent = w->node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(b->m, w->node);
		if (err || !folded || parent == HL_NODE_NONE ||
			hl_runtime_frames_contain(&b->runtime, parent))
			break;
		err = find_run(b, parent, &run);
		if (!err && run.frames > 0) {
			if (*frames == 0 || names_run(b, run.outer))
				*outer = run.outer;
			*frames += (uint32_t)hl_min_u64(run.frames, UINT32_MAX - *frames);
			w->node = run.last;
			parent = hl_model_parent(b->m, w->node);
			if (parent == HL_NODE_NONE ||
				hl_runtime_frames_contain(&b->runtime, parent))
				break;
		}
		if (!err)
			err = hl_model_node_frames(b->m, parent, &refs, &n);
		w->node = parent;
		w->left = err ? 0 : (uint32_t)n;
	}
	return err;
}

/* The first step of a stack names what its site called, if it is the same for all stacks. */
static void set_via(struct hl_tree_builder *b, struct hl_tree_walker *w)
{
	struct hl_tree_node *n = &b->nodes.data[w->at];

	if (!w->begun)
		n->via = n->total.blocks == 0 || n->via == w->via ? w->via : HL_NODE_NONE;
	w->begun = true;
}

/* Adds the next frame of a walker, or the run that begins there. The first frame is the site. */
static int add_step(struct hl_tree_builder *b, struct hl_tree_walker *w, struct hl_frame_ref ref)
{
	uint32_t outer = ref.frame, frames = 0;
	bool folded = false;
	int err = w->begun && !w->whole ? hl_tree_is_folded(b, ref.frame, &folded) : 0;

	if (err)
		return err;
	if (!folded) {
		w->left--;
		return hl_tree_find_or_add_child(b, w->at, ref, &w->at);
	}
	err = skip_run(b, w, &outer, &frames);
	return err ? err : hl_tree_find_or_add_run(b, w->at, outer, frames, &w->at);
}

/* Moves one frame outwards. *more: there was one. */
static int step_outwards(struct hl_tree_builder *b, struct hl_tree_walker *w, bool *more)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err;

	*more = false;
	while (w->left == 0) {
		w->node = w->node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(b->m, w->node);
		if (w->node == HL_NODE_NONE ||
			(!w->whole && hl_runtime_frames_contain(&b->runtime, w->node)))
			return 0;
		err = hl_model_node_frames(b->m, w->node, &refs, &n);
		if (err)
			return err;
		w->left = (uint32_t)n;
	}
	err = hl_model_node_frames(b->m, w->node, &refs, &n);
	if (!err)
		err = add_step(b, w, refs[w->left - 1]);
	if (err)
		return err;
	set_via(b, w);
	*more = true;
	add_total(b, w);
	return 0;
}

static int start_at_site(struct hl_tree_builder *b, struct hl_tree_walker *w)
{
	struct hl_site site;
	int err = hl_model_locate_site(b->m, w->node, &site);

	if (err)
		return err;
	w->node = site.node;
	w->left = site.index + 1;
	return site.inner == HL_NODE_NONE ? 0 : hl_tree_find_family(b, site.inner, &w->via);
}

/* Marks the frame in the stack of each node from this one outwards, so that stacks with common
 * callers are followed once. */
static int find_start(struct hl_tree_builder *b, uint32_t node, struct hl_tree_start *out)
{
	int err = 0;

	b->path.len = 0;
	for (; node != HL_NODE_NONE && !b->starts[node].known && !err;
		node = hl_model_parent(b->m, node))
		err = hl_vec_push(&b->path, node);
	*out = node == HL_NODE_NONE ? (struct hl_tree_start){HL_NODE_NONE, 0, true}
				    : b->starts[node];
	while (b->path.len > 0 && !err) {
		const struct hl_frame_ref *refs;
		size_t n = 0;

		node = b->path.data[--b->path.len];
		if (out->node == HL_NODE_NONE)
			err = hl_model_node_frames(b->m, node, &refs, &n);
		for (uint32_t i = 0; i < n && !err && out->node == HL_NODE_NONE; i++) {
			if (hl_tree_begins_at(b, refs[i].frame))
				*out = (struct hl_tree_start){node, i + 1, true};
		}
		b->starts[node] = *out;
	}
	return err;
}

static int start_at_function(struct hl_tree_builder *b, struct hl_tree_walker *w)
{
	struct hl_tree_start start;
	int err = find_start(b, w->node, &start);

	if (!err) {
		w->node = start.node;
		w->left = start.left;
	}
	return err;
}

int hl_tree_start_walker(struct hl_tree_builder *b, struct hl_tree_walker *w, uint32_t node,
	uint32_t at, const struct hl_value *v)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	*w = (struct hl_tree_walker){.node = node,
		.left = (uint32_t)n,
		.at = at,
		.whole = hl_runtime_frames_contain(&b->runtime, node),
		.via = HL_NODE_NONE,
		.v = *v};
	if (!err && b->opts->from)
		err = start_at_function(b, w);
	else if (!err && b->opts->fold && !w->whole)
		err = start_at_site(b, w);
	if (!err && b->opts->with_called_functions && !b->opts->from)
		err = hl_tree_add_call(b, node, &w->at);
	if (!err)
		add_total(b, w);
	return err;
}

/* Is the node of this walker large enough, and not too deep, to get children? All walkers have
 * taken the same number of steps, so the totals here and above are complete. */
static bool needs_children(struct hl_tree_builder *b, struct hl_tree_walker *w)
{
	struct hl_tree_node *n = &b->nodes.data[w->at];
	const struct hl_tree_node *parent = &b->nodes.data[n->parent];
	bool split = n->total.blocks != parent->total.blocks;

	n->depth = parent->depth + split;
	w->chain = split ? 0 : w->chain + 1;
	if (w->chain > RUN_SHORT && b->long_steps++ >= LONG_STEPS_MAX) {
		n->callers_omitted = true;
		b->long_steps = LONG_STEPS_MAX;
		return false;
	}
	return hl_tree_order_value(&n->total, b->opts->by_blocks) >= b->opts->min_value &&
	       (b->opts->depth == 0 || n->depth <= b->opts->depth);
}

/*
 * All stacks move outwards one frame at a time. A node that is too small to be shown gets no
 * children: the tree would otherwise be as large as all stacks together, because stacks have few
 * frames in common at the inner end. A node that is too deep gets none either: where each level of
 * a recursion allocates, every stack would be followed to its end. Where only the inner levels
 * allocate, there are long runs without a branch, and all stacks would be followed through them.
 * The steps in such runs are counted; after LONG_STEPS_MAX the rest is omitted and marked as cut.
 */
int hl_tree_walk_outwards(struct hl_tree_builder *b, struct hl_tree_walker *walkers, size_t n)
{
	int err = 0;

	while (n > 0 && !err) {
		size_t kept = 0;

		for (size_t i = 0; i < n && !err; i++) {
			bool more;

			err = step_outwards(b, &walkers[i], &more);
			if (!err && more)
				walkers[kept++] = walkers[i];
			else
				hl_tree_add_self(b, walkers[i].at, &walkers[i].v);
		}
		n = kept;
		kept = 0;
		for (size_t i = 0; i < n && !err; i++) {
			if (needs_children(b, &walkers[i]))
				walkers[kept++] = walkers[i];
			else
				hl_tree_add_self(b, walkers[i].at, &walkers[i].v);
		}
		n = kept;
	}
	return err;
}

int hl_tree_add_inverted(struct hl_tree_builder *b, const struct hl_answer *a)
{
	struct hl_tree_walker *walkers;
	size_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i <= a->n_keys; i++)
		n += a->values[i].blocks > 0;
	walkers = malloc((n + 1) * sizeof(*walkers));
	if (!walkers)
		return -ENOMEM;
	n = 0;
	hl_work_begin(&b->m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		err = hl_naming_tick(b->m, i, a->n_keys);
		if (!err && a->values[i].blocks > 0)
			err = hl_tree_start_walker(b, &walkers[n++],
				i < a->n_keys ? i : HL_NODE_NONE, 0, &a->values[i]);
	}
	hl_work_end(&b->m->work, HL_WORK_SHORT);
	if (!err)
		err = hl_tree_walk_outwards(b, walkers, n);
	free(walkers);
	return err;
}
