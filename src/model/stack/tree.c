/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - builds a tree of frames from values per stack; see tree.h.
 *
 * Nothing here is recursive: stacks may be a million frames deep.
 */
#include "model/stack/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/stack/group_tree.h"
#include "model/model_internal.h"
#include "model/stack/runtime_frames.h"
#include "util/pair_map.h"
#include "util/vec.h"

#define NOT_NEEDED UINT32_MAX

/* Inverted trees: a run of frames without a branch that is longer than RUN_SHORT costs long steps.
 * LONG_STEPS_MAX limits their sum. */
#define RUN_SHORT      200u
#define LONG_STEPS_MAX (1u << 22)

struct builder {
	struct hl_model *m;
	const struct hl_tree_opts *opts;
	HL_VEC(struct hl_tree_node) nodes;
	struct hl_pair_map by_parent; /* (parent, frame) -> node */
	uint32_t *innermost;          /* per recorded node: its innermost tree node */
	struct hl_pair_map in_group;  /* grouped: (recorded node, group's node) -> tree node */
	HL_VEC(uint32_t) path;        /* recorded nodes from a stack's innermost frame outwards */
	struct hl_runtime_frames runtime; /* frames before main, which are omitted */
	uint32_t long_steps;
};

static int find_or_add_child(
	struct builder *b, uint32_t parent, struct hl_frame_ref ref, uint32_t *out)
{
	struct hl_tree_node node = {.parent = parent, .frame = ref.frame, .inlined = ref.inlined};
	int err;

	*out = hl_pair_map_get(&b->by_parent, parent, ref.frame);
	if (*out != HL_PAIR_MAP_NONE) {
		b->nodes.data[*out].inlined &= ref.inlined;
		return 0;
	}
	if (b->nodes.len >= HL_PAIR_MAP_NONE)
		return -ENOMEM;
	*out = (uint32_t)b->nodes.len;
	err = hl_vec_push(&b->nodes, node);
	return err ? err : hl_pair_map_put(&b->by_parent, parent, ref.frame, *out);
}

/* Marks every recorded node that has a value, and all its callers. A parent has a smaller index
 * than its children, so one backward pass is enough. */
static int mark_needed(struct builder *b, const struct hl_answer *a)
{
	b->innermost = malloc(((size_t)a->n_keys + 1) * sizeof(*b->innermost));
	if (!b->innermost)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_keys; i++)
		b->innermost[i] = a->values[i].blocks || a->values[i].bytes ? 0 : NOT_NEEDED;
	for (uint32_t i = a->n_keys; i-- > 0;) {
		uint32_t parent =
			b->innermost[i] == NOT_NEEDED ? HL_NODE_NONE : hl_model_parent(b->m, i);

		if (parent != HL_NODE_NONE)
			b->innermost[parent] = 0;
	}
	return 0;
}

static void add_self(struct builder *b, uint32_t at, const struct hl_value *v)
{
	hl_value_add(&b->nodes.data[at].self, v);
}

/* Moves *at to the node of the function that the stack called, if it is known. */
static int add_call(struct builder *b, uint32_t node, uint32_t *at)
{
	struct hl_frame_ref ref = {0};
	int err = hl_model_called_function_frame(b->m, node, &ref.frame);

	return err || ref.frame == HL_NODE_NONE ? err : find_or_add_child(b, *at, ref, at);
}

/* Moves *at down the frames of one recorded node. */
static int add_frames(struct builder *b, uint32_t node, uint32_t *at)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = find_or_add_child(b, *at, refs[i], at);
	return err;
}

static int add_value(struct builder *b, uint32_t node, uint32_t at, const struct hl_value *v)
{
	int err = 0;

	if (v->blocks && b->opts->with_called_functions)
		err = add_call(b, node, &at);
	if (!err)
		add_self(b, at, v);
	return err;
}

/* A frame before main. It maps to the root, so its callees begin there. A stack that ends in such a
 * frame is added with all its frames: such a run is short (FRAMES_MAX in runtime_frames.c). */
static int add_runtime_frame(struct builder *b, uint32_t node, const struct hl_value *v)
{
	uint32_t chain[UINT8_MAX], n = 0, at = 0;
	int err = 0;

	b->innermost[node] = 0;
	if (!v->blocks)
		return 0;
	for (uint32_t i = node; i != HL_NODE_NONE; i = hl_model_parent(b->m, i))
		chain[n++] = i;
	while (n > 0 && !err)
		err = add_frames(b, chain[--n], &at);
	return err ? err : add_value(b, node, at, v);
}

static int add_recorded(struct builder *b, uint32_t node, const struct hl_value *v)
{
	uint32_t parent = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(b->m, node);
	uint32_t at = parent == HL_NODE_NONE ? 0 : b->innermost[parent];
	int err;

	if (hl_runtime_frames_contain(&b->runtime, node))
		return add_runtime_frame(b, node, v);
	err = add_frames(b, node, &at);
	if (err)
		return err;
	if (node != HL_NODE_NONE)
		b->innermost[node] = at;
	return add_value(b, node, at, v);
}

/* --- grouped --- */

/* Adds a stack below its group. Nodes that other stacks of the group have made are found by
 * in_group, so deep stacks that share callers cost no more than the size of the tree. */
static int add_in_group(struct builder *b, uint32_t node, uint32_t group, const struct hl_value *v)
{
	bool whole = hl_runtime_frames_contain(&b->runtime, node);
	uint32_t at = group;
	int err = 0;

	b->path.len = 0;
	for (uint32_t i = node; !err && (i != HL_NODE_NONE || b->path.len == 0);
		i = i == HL_NODE_NONE ? i : hl_model_parent(b->m, i)) {
		uint32_t known = whole ? HL_PAIR_MAP_NONE : hl_pair_map_get(&b->in_group, i, group);

		if (known != HL_PAIR_MAP_NONE)
			at = known;
		if (known != HL_PAIR_MAP_NONE ||
			(!whole && hl_runtime_frames_contain(&b->runtime, i)))
			break;
		err = hl_vec_push(&b->path, i);
	}
	while (b->path.len > 0 && !err) {
		uint32_t i = b->path.data[--b->path.len];

		err = add_frames(b, i, &at);
		if (!err && !whole)
			err = hl_pair_map_put(&b->in_group, i, group, at);
	}
	return err ? err : add_value(b, node, at, v);
}

/* Finds or adds the tree node of a row's group. */
static int add_group(struct builder *b, const struct hl_grouped_stacks *d, size_t row, uint32_t *at)
{
	const struct hl_cross_sums_row *r = &d->cross.rows[row];
	struct hl_frame_ref ref = {.frame = hl_grouping_frame(&d->grouping, r->node, r->key)};

	return find_or_add_child(b, 0, ref, at);
}

/* --- inverted --- */

/* A stack that is followed from its innermost frame outwards. */
struct walker {
	uint32_t node;  /* the recorded node */
	uint32_t left;  /* frames of that node not visited yet */
	uint32_t at;    /* the tree node */
	uint32_t chain; /* frames since the last branch */
	bool whole;     /* frames before main are not omitted */
	struct hl_value v;
};

static void add_total(struct builder *b, const struct walker *w)
{
	hl_value_add(&b->nodes.data[w->at].total, &w->v);
}

/* Moves one frame outwards. *more: there was one. */
static int step_outwards(struct builder *b, struct walker *w, bool *more)
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
		err = find_or_add_child(b, w->at, refs[--w->left], &w->at);
	if (err)
		return err;
	*more = true;
	add_total(b, w);
	return 0;
}

static int start_walker(
	struct builder *b, struct walker *w, uint32_t node, uint32_t at, const struct hl_value *v)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	*w = (struct walker){.node = node,
		.left = (uint32_t)n,
		.at = at,
		.whole = hl_runtime_frames_contain(&b->runtime, node),
		.v = *v};
	if (!err && b->opts->with_called_functions)
		err = add_call(b, node, &w->at);
	if (!err)
		add_total(b, w);
	return err;
}

static uint64_t bytes_or_blocks(const struct hl_value *v, bool by_blocks)
{
	return by_blocks ? v->blocks : v->bytes;
}

/* Is the node of this walker large enough, and not too deep, to get children? All walkers have
 * taken the same number of steps, so the totals here and above are complete. */
static bool needs_children(struct builder *b, struct walker *w)
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
	return bytes_or_blocks(&n->total, b->opts->by_blocks) >= b->opts->min_value &&
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
static int walk_outwards(struct builder *b, struct walker *walkers, size_t n)
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
				add_self(b, walkers[i].at, &walkers[i].v);
		}
		n = kept;
		kept = 0;
		for (size_t i = 0; i < n && !err; i++) {
			if (needs_children(b, &walkers[i]))
				walkers[kept++] = walkers[i];
			else
				add_self(b, walkers[i].at, &walkers[i].v);
		}
		n = kept;
	}
	return err;
}

static int add_inverted(struct builder *b, const struct hl_answer *a)
{
	struct walker *walkers;
	size_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i <= a->n_keys; i++)
		n += a->values[i].blocks > 0;
	walkers = malloc((n + 1) * sizeof(*walkers));
	if (!walkers)
		return -ENOMEM;
	n = 0;
	hl_progress_begin(HL_PROGRESS_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		hl_naming_progress(i, a->n_keys);
		if (a->values[i].blocks > 0)
			err = start_walker(b, &walkers[n++], i < a->n_keys ? i : HL_NODE_NONE, 0,
				&a->values[i]);
	}
	hl_progress_end();
	if (!err)
		err = walk_outwards(b, walkers, n);
	free(walkers);
	return err;
}

static int add_grouped(struct builder *b, const struct hl_grouped_stacks *d)
{
	bool inverted = b->opts->inverted;
	struct walker *walkers = inverted ? malloc((d->cross.n + 1) * sizeof(*walkers)) : NULL;
	int err = inverted && !walkers ? -ENOMEM : 0;

	hl_progress_begin(HL_PROGRESS_NAMES);
	for (size_t i = 0; i < d->cross.n && !err; i++) {
		const struct hl_cross_sums_row *r = &d->cross.rows[i];
		uint32_t at;

		hl_naming_progress((uint32_t)i, (uint32_t)d->cross.n);
		err = add_group(b, d, i, &at);
		if (!err)
			err = inverted ? start_walker(b, &walkers[i], r->node, at, &r->value)
				       : add_in_group(b, r->node, at, &r->value);
	}
	hl_progress_end();
	if (!err && inverted)
		err = walk_outwards(b, walkers, d->cross.n);
	free(walkers);
	return err;
}

static void sum_totals(struct hl_tree *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++)
		t->nodes[i].total = t->nodes[i].self;
	for (uint32_t i = t->n_nodes; i-- > 1;) {
		struct hl_tree_node *parent = &t->nodes[t->nodes[i].parent];

		hl_value_add(&parent->total, &t->nodes[i].total);
		parent->n_children++;
	}
}

struct sort_context {
	struct hl_model *m;
	const struct hl_tree *t;
	bool by_blocks;
};

static int compare_text(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_children(const void *pa, const void *pb, void *arg)
{
	const struct sort_context *o = arg;
	const struct hl_tree_node *a = &o->t->nodes[*(const uint32_t *)pa];
	const struct hl_tree_node *b = &o->t->nodes[*(const uint32_t *)pb];
	const struct hl_frame *fa = hl_model_frame(o->m, a->frame),
			      *fb = hl_model_frame(o->m, b->frame);
	int c;

	for (int second = 0; second < 2; second++) {
		uint64_t size_a = bytes_or_blocks(&a->total, o->by_blocks ^ second),
			 size_b = bytes_or_blocks(&b->total, o->by_blocks ^ second);

		if (size_a != size_b)
			return size_a > size_b ? -1 : 1;
	}
	if ((c = compare_text(fa->function, fb->function)) != 0 ||
		(c = compare_text(fa->file, fb->file)) != 0)
		return c;
	if (fa->line != fb->line)
		return fa->line < fb->line ? -1 : 1;
	return compare_text(fa->module, fb->module);
}

static int sort_children(struct hl_tree *t, struct hl_model *m, bool by_blocks)
{
	struct sort_context o = {.m = m, .t = t, .by_blocks = by_blocks};
	uint32_t next = 0;

	t->children = malloc((size_t)t->n_nodes * sizeof(*t->children));
	if (!t->children)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		t->nodes[i].first_child = next;
		next += t->nodes[i].n_children;
		t->nodes[i].n_children = 0;
	}
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		struct hl_tree_node *parent = &t->nodes[t->nodes[i].parent];

		t->children[parent->first_child + parent->n_children++] = i;
	}
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		if (t->nodes[i].n_children > 1)
			qsort_r(t->children + t->nodes[i].first_child, t->nodes[i].n_children,
				sizeof(*t->children), compare_children, &o);
	}
	return 0;
}

/* Marks siblings that look the same by their short names. Only shortened names can be ambiguous. */
static int mark_ambiguous_siblings(struct hl_tree *t, struct hl_model *m)
{
	struct hl_pair_map seen = {0};
	int err = 0;

	for (uint32_t i = 1; i < t->n_nodes && !err; i++) {
		struct hl_tree_node *n = &t->nodes[i], *lookalike;
		const struct hl_frame *f = hl_model_frame(m, n->frame);
		uint32_t first;

		if (t->nodes[n->parent].n_children < 2 || strcmp(f->display_name, f->function) == 0)
			continue;
		err = hl_frame_find_lookalike(&seen, n->parent, f, i, &first);
		lookalike = &t->nodes[first];
		if (!err && strcmp(hl_model_frame(m, lookalike->frame)->function, f->function) != 0)
			n->full_name = lookalike->full_name = true;
	}
	hl_pair_map_fini(&seen);
	return err;
}

static int add_outermost_first(struct builder *b, const struct hl_answer *a)
{
	int err = mark_needed(b, a);

	hl_progress_begin(HL_PROGRESS_NAMES);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		hl_naming_progress(i, a->n_keys);
		if (b->innermost[i] != NOT_NEEDED)
			err = add_recorded(b, i, &a->values[i]);
	}
	hl_progress_end();
	if (!err && a->values[a->n_keys].blocks > 0)
		err = add_recorded(b, HL_NODE_NONE, &a->values[a->n_keys]);
	return err;
}

static int build_tree(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a,
	const struct hl_grouped_stacks *d, const struct hl_tree_opts *opts)
{
	struct builder b = {.m = m, .opts = opts};
	struct hl_tree_node root = {0};
	int err = hl_vec_push(&b.nodes, root);

	memset(t, 0, sizeof(*t));
	if (!err && opts->omit_runtime_frames)
		err = hl_runtime_frames_find(&b.runtime, m, a);
	if (!err && d)
		err = add_grouped(&b, d);
	else if (!err)
		err = opts->inverted ? add_inverted(&b, a) : add_outermost_first(&b, a);
	free(b.innermost);
	hl_pair_map_fini(&b.in_group);
	hl_vec_free(&b.path);
	hl_runtime_frames_fini(&b.runtime);
	hl_pair_map_fini(&b.by_parent);
	t->nodes = b.nodes.data;
	t->n_nodes = (uint32_t)b.nodes.len;
	if (!err) {
		sum_totals(t);
		err = sort_children(t, m, opts->by_blocks);
		if (!err)
			err = mark_ambiguous_siblings(t, m);
	}
	if (err)
		hl_tree_fini(t);
	return err;
}

int hl_tree_build(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a,
	const struct hl_tree_opts *opts)
{
	return build_tree(t, m, a, NULL, opts);
}

int hl_tree_build_grouped(struct hl_tree *t, struct hl_model *m, const struct hl_grouped_stacks *d,
	const struct hl_tree_opts *opts)
{
	return build_tree(t, m, &d->by_stack, d, opts);
}

void hl_tree_fini(struct hl_tree *t)
{
	free(t->nodes);
	free(t->children);
	memset(t, 0, sizeof(*t));
}
