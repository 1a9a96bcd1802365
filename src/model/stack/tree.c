/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - builds a tree of frames from values per stack; see tree.h.
 *
 * Nothing here is recursive: stacks may be a million frames deep.
 */
#include "model/stack/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/stack/group_tree.h"
#include "model/model_internal.h"
#include "model/stack/runtime_frames.h"
#include "model/stack/site.h"
#include "model/stack/stack_rules.h"
#include "util/strbuf.h"
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
	struct hl_pair_map families;   /* frame -> the frame of its family */
	bool whole;                    /* the current stack is shown with all its frames */
	uint32_t *run_lengths;         /* fold: per recorded node, of the run that it ends in */
	struct hl_pair_map group_runs; /* the same by (recorded node, group's node) */
	struct run_memo *memo;         /* fold, inverted: per recorded node */
};

/* A run of recorded nodes that have only folded frames, from one node outwards. */
struct run_memo {
	uint32_t frames; /* 0: not known, or no such run */
	uint32_t last;   /* its outermost node */
	uint32_t outer;  /* its outermost frame */
	bool known;
};

/* Where the frames of a stack continue from the outermost one inwards. */
struct place {
	uint32_t at;  /* the tree node */
	uint32_t run; /* how many frames of it are folded, on this path; 0: it is a frame */
};

static int find_or_add_child(
	struct builder *b, uint32_t parent, struct hl_frame_ref ref, uint32_t *out)
{
	struct hl_tree_node node = {
		.parent = parent, .frame = ref.frame, .inlined = ref.inlined, .via = HL_NODE_NONE};
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

/* --- folding --- */

static int is_folded(struct builder *b, uint32_t frame, bool *folded)
{
	enum hl_frame_kind kind = HL_FRAME_OWN;
	int err = b->opts->fold && !b->whole ? hl_model_frame_kind(b->m, frame, &kind) : 0;

	*folded = hl_frame_kind_is_folded(kind);
	return err;
}

/* The family of a run with this outermost frame: the wrapper itself, or a library. */
static int make_family(struct builder *b, uint32_t frame, uint32_t *family)
{
	const struct hl_frame *f = hl_model_frame(b->m, frame);
	struct hl_strbuf name = {0};
	enum hl_frame_kind kind;
	int err = hl_model_frame_kind(b->m, frame, &kind);

	if (!err && kind == HL_FRAME_WRAPPER)
		hl_strbuf_puts(&name, f->display_name);
	else if (!err)
		hl_frame_put_family(&name, f);
	if (!err)
		err = hl_strbuf_error(&name);
	if (!err)
		err = hl_model_fold_frame(b->m, hl_strbuf_str(&name), frame, family);
	hl_strbuf_fini(&name);
	return err;
}

static int find_family(struct builder *b, uint32_t frame, uint32_t *family)
{
	int err;

	*family = hl_pair_map_get(&b->families, frame, 0);
	if (*family != HL_PAIR_MAP_NONE)
		return 0;
	err = make_family(b, frame, family);
	return err ? err : hl_pair_map_put(&b->families, frame, 0, *family);
}

/* Adds a run of `frames` frames, or this many frames more to one that has begun. */
static int find_or_add_run(
	struct builder *b, uint32_t parent, uint32_t outer, uint32_t frames, uint32_t *out)
{
	struct hl_frame_ref ref = {0};
	struct hl_tree_node *n;
	int err = find_family(b, outer, &ref.frame);

	if (!err)
		err = find_or_add_child(b, parent, ref, out);
	if (err)
		return err;
	n = &b->nodes.data[*out];
	n->outer = n->folded == 0 || n->outer == outer ? outer : HL_NODE_NONE;
	n->folded = hl_max_u32(n->folded, frames);
	return 0;
}

/* Moves a place one frame inwards. */
static int add_frame_at(struct builder *b, struct hl_frame_ref ref, struct place *p)
{
	bool folded;
	int err = is_folded(b, ref.frame, &folded);

	if (err)
		return err;
	if (!folded) {
		p->run = 0;
		return find_or_add_child(b, p->at, ref, &p->at);
	}
	if (p->run == 0) {
		p->run = 1;
		return find_or_add_run(b, p->at, ref.frame, 1, &p->at);
	}
	p->run += p->run < UINT32_MAX;
	b->nodes.data[p->at].folded = hl_max_u32(b->nodes.data[p->at].folded, p->run);
	return 0;
}

/* Gives each run its name. A run of one frame becomes that frame. */
static int name_runs(struct builder *b)
{
	struct hl_strbuf name = {0};
	int err = 0;

	for (size_t i = 1; i < b->nodes.len && !err; i++) {
		struct hl_tree_node *n = &b->nodes.data[i];
		uint32_t outer;

		if (n->folded == 1 && n->outer != HL_NODE_NONE) {
			n->frame = n->outer;
			n->folded = 0;
		}
		if (n->folded == 0)
			continue;
		outer = hl_model_frame(b->m, n->frame)->run_of;
		hl_strbuf_reset(&name);
		hl_strbuf_printf(&name, "[%" PRIu32 " frame%s of %s]", n->folded,
			n->folded == 1 ? "" : "s", hl_model_frame(b->m, n->frame)->function);
		err = hl_strbuf_error(&name);
		if (!err)
			err = hl_model_fold_frame(b->m, hl_strbuf_str(&name), outer, &n->frame);
	}
	hl_strbuf_fini(&name);
	return err;
}

/* --- from the outermost frame inwards --- */

/* Marks every recorded node that has a value, and all its callers. A parent has a smaller index
 * than its children, so one backward pass is enough. */
static int mark_needed(struct builder *b, const struct hl_answer *a)
{
	b->innermost = malloc(((size_t)a->n_keys + 1) * sizeof(*b->innermost));
	b->run_lengths = calloc((size_t)a->n_keys + 1, sizeof(*b->run_lengths));
	if (!b->innermost || !b->run_lengths)
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

/* Moves a place down the frames of one recorded node. */
static int add_frames(struct builder *b, uint32_t node, struct place *p)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = add_frame_at(b, refs[i], p);
	return err;
}

/* Adds the value to the tree node of the stack's site, which is there already. */
static int add_site(struct builder *b, uint32_t node, uint32_t at, const struct hl_value *v)
{
	const struct hl_frame_ref *refs;
	struct hl_site site;
	size_t n = 0;
	int err = hl_model_locate_site(b->m, node, &site);

	if (!err)
		err = hl_model_node_frames(b->m, site.node, &refs, &n);
	if (err)
		return err;
	if (site.node != HL_NODE_NONE)
		at = b->innermost[site.node];
	for (size_t i = site.index + 1; i < n; i++)
		at = b->nodes.data[at].parent;
	hl_value_add(&b->nodes.data[at].site, v);
	return 0;
}

static int add_value(struct builder *b, uint32_t node, uint32_t at, const struct hl_value *v)
{
	int err = 0;

	if (v->blocks && b->opts->with_sites)
		err = add_site(b, node, at, v);
	if (!err && v->blocks && b->opts->with_called_functions)
		err = add_call(b, node, &at);
	if (!err)
		add_self(b, at, v);
	return err;
}

/* A frame before main. It maps to the root, so its callees begin there. A stack that ends in such a
 * frame is added with all its frames: such a run is short (FRAMES_MAX in runtime_frames.c). */
static int add_runtime_frame(struct builder *b, uint32_t node, const struct hl_value *v)
{
	uint32_t chain[UINT8_MAX], n = 0;
	struct place p = {0};
	int err = 0;

	b->innermost[node] = 0;
	if (!v->blocks)
		return 0;
	for (uint32_t i = node; i != HL_NODE_NONE; i = hl_model_parent(b->m, i))
		chain[n++] = i;
	b->whole = true;
	while (n > 0 && !err)
		err = add_frames(b, chain[--n], &p);
	b->whole = false;
	return err ? err : add_value(b, node, p.at, v);
}

static int add_recorded(struct builder *b, uint32_t node, const struct hl_value *v)
{
	uint32_t parent = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(b->m, node);
	struct place p = {0};
	int err;

	if (hl_runtime_frames_contain(&b->runtime, node))
		return add_runtime_frame(b, node, v);
	if (parent != HL_NODE_NONE)
		p = (struct place){b->innermost[parent], b->run_lengths[parent]};
	err = add_frames(b, node, &p);
	if (err)
		return err;
	if (node != HL_NODE_NONE) {
		b->innermost[node] = p.at;
		b->run_lengths[node] = p.run;
	}
	return add_value(b, node, p.at, v);
}

/* --- grouped --- */

/* Adds a stack below its group. Nodes that other stacks of the group have made are found by
 * in_group, so deep stacks that share callers cost no more than the size of the tree. */
static int add_in_group(struct builder *b, uint32_t node, uint32_t group, const struct hl_value *v)
{
	bool whole = hl_runtime_frames_contain(&b->runtime, node);
	struct place p = {.at = group};
	int err = 0;

	b->path.len = 0;
	for (uint32_t i = node; !err && (i != HL_NODE_NONE || b->path.len == 0);
		i = i == HL_NODE_NONE ? i : hl_model_parent(b->m, i)) {
		uint32_t known = whole ? HL_PAIR_MAP_NONE : hl_pair_map_get(&b->in_group, i, group);

		if (known != HL_PAIR_MAP_NONE) {
			uint32_t run = hl_pair_map_get(&b->group_runs, i, group);

			p = (struct place){known, run == HL_PAIR_MAP_NONE ? 0 : run};
		}
		if (known != HL_PAIR_MAP_NONE ||
			(!whole && hl_runtime_frames_contain(&b->runtime, i)))
			break;
		err = hl_vec_push(&b->path, i);
	}
	b->whole = whole;
	while (b->path.len > 0 && !err) {
		uint32_t i = b->path.data[--b->path.len];

		err = add_frames(b, i, &p);
		if (!err && !whole)
			err = hl_pair_map_put(&b->in_group, i, group, p.at);
		if (!err && !whole && p.run > 0)
			err = hl_pair_map_put(&b->group_runs, i, group, p.run);
	}
	b->whole = false;
	return err ? err : add_value(b, node, p.at, v);
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
	uint32_t via;   /* see struct hl_tree_node; of the first step */
	bool begun;
	struct hl_value v;
};

static void add_total(struct builder *b, const struct walker *w)
{
	hl_value_add(&b->nodes.data[w->at].total, &w->v);
}

/* Finds the run of nodes from this one outwards that have only folded frames. */
static int find_run(struct builder *b, uint32_t node, struct run_memo *out)
{
	struct run_memo next = {0};
	bool all = true;
	int err = 0;

	b->path.len = 0;
	while (!err && all && node != HL_NODE_NONE && !b->memo[node].known &&
		!hl_runtime_frames_contain(&b->runtime, node)) {
		const struct hl_frame_ref *refs;
		size_t n;

		err = hl_model_node_frames(b->m, node, &refs, &n);
		for (size_t i = 0; i < n && !err && all; i++)
			err = is_folded(b, refs[i].frame, &all);
		if (!err)
			err = hl_vec_push(&b->path, node);
		node = all ? hl_model_parent(b->m, node) : node;
	}
	if (err)
		return err;
	if (!all) {
		b->memo[b->path.data[--b->path.len]] = (struct run_memo){.known = true};
	} else if (node != HL_NODE_NONE && b->memo[node].known) {
		next = b->memo[node];
	}
	while (b->path.len > 0 && !err) {
		const struct hl_frame_ref *refs;
		size_t n;

		node = b->path.data[--b->path.len];
		err = hl_model_node_frames(b->m, node, &refs, &n);
		if (!err && next.frames == 0)
			next = (struct run_memo){.last = node, .outer = refs[0].frame};
		next.frames += err ? 0 : (uint32_t)hl_min_u64(n, UINT32_MAX - next.frames);
		next.known = true;
		b->memo[node] = next;
	}
	*out = next;
	return err;
}

/* Moves a walker over the rest of a run that begins in its node. */
static int skip_run(struct builder *b, struct walker *w, uint32_t *outer, uint32_t *frames)
{
	const struct hl_frame_ref *refs;
	struct run_memo run = {0};
	uint32_t parent;
	size_t n;
	bool folded = true;
	int err = 0;

	while (!err) {
		err = hl_model_node_frames(b->m, w->node, &refs, &n);
		while (!err && w->left > 0 && folded) {
			err = is_folded(b, refs[w->left - 1].frame, &folded);
			if (err || !folded)
				break;
			*outer = refs[--w->left].frame;
			*frames += *frames < UINT32_MAX;
		}
		parent = w->node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(b->m, w->node);
		if (err || !folded || parent == HL_NODE_NONE ||
			hl_runtime_frames_contain(&b->runtime, parent))
			break;
		err = find_run(b, parent, &run);
		if (!err && run.frames > 0) {
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
static void set_via(struct builder *b, struct walker *w)
{
	struct hl_tree_node *n = &b->nodes.data[w->at];

	if (!w->begun)
		n->via = n->total.blocks == 0 || n->via == w->via ? w->via : HL_NODE_NONE;
	w->begun = true;
}

/* Adds the next frame of a walker, or the run that begins there. The first frame is the site. */
static int add_step(struct builder *b, struct walker *w, struct hl_frame_ref ref)
{
	uint32_t outer = ref.frame, frames = 0;
	bool folded = false;
	int err = w->begun && !w->whole ? is_folded(b, ref.frame, &folded) : 0;

	if (err)
		return err;
	if (!folded) {
		w->left--;
		return find_or_add_child(b, w->at, ref, &w->at);
	}
	err = skip_run(b, w, &outer, &frames);
	return err ? err : find_or_add_run(b, w->at, outer, frames, &w->at);
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
		err = add_step(b, w, refs[w->left - 1]);
	if (err)
		return err;
	set_via(b, w);
	*more = true;
	add_total(b, w);
	return 0;
}

static int start_at_site(struct builder *b, struct walker *w)
{
	struct hl_site site;
	int err = hl_model_locate_site(b->m, w->node, &site);

	if (err)
		return err;
	w->node = site.node;
	w->left = site.index + 1;
	return site.inner == HL_NODE_NONE ? 0 : find_family(b, site.inner, &w->via);
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
		.via = HL_NODE_NONE,
		.v = *v};
	if (!err && b->opts->fold && !w->whole)
		err = start_at_site(b, w);
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
	hl_work_begin(&b->m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		err = hl_naming_tick(b->m, i, a->n_keys);
		if (!err && a->values[i].blocks > 0)
			err = start_walker(b, &walkers[n++], i < a->n_keys ? i : HL_NODE_NONE, 0,
				&a->values[i]);
	}
	hl_work_end(&b->m->work, HL_WORK_SHORT);
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

	hl_work_begin(&b->m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (size_t i = 0; i < d->cross.n && !err; i++) {
		const struct hl_cross_sums_row *r = &d->cross.rows[i];
		uint32_t at;

		err = hl_naming_tick(b->m, (uint32_t)i, (uint32_t)d->cross.n);
		if (!err)
			err = add_group(b, d, i, &at);
		if (!err)
			err = inverted ? start_walker(b, &walkers[i], r->node, at, &r->value)
				       : add_in_group(b, r->node, at, &r->value);
	}
	hl_work_end(&b->m->work, HL_WORK_SHORT);
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

	hl_work_begin(&b->m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		err = hl_naming_tick(b->m, i, a->n_keys);
		if (!err && b->innermost[i] != NOT_NEEDED)
			err = add_recorded(b, i, &a->values[i]);
	}
	hl_work_end(&b->m->work, HL_WORK_SHORT);
	if (!err && a->values[a->n_keys].blocks > 0)
		err = add_recorded(b, HL_NODE_NONE, &a->values[a->n_keys]);
	return err;
}

static int build_tree(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a,
	const struct hl_grouped_stacks *d, const struct hl_tree_opts *opts)
{
	struct builder b = {.m = m, .opts = opts};
	struct hl_tree_node root = {.via = HL_NODE_NONE};
	int err = hl_vec_push(&b.nodes, root);

	memset(t, 0, sizeof(*t));
	if (!err && (opts->fold || opts->with_sites))
		err = hl_model_find_wrappers(m);
	if (!err && opts->fold && opts->inverted) {
		b.memo = calloc((size_t)hl_model_n_nodes(m) + 1, sizeof(*b.memo));
		err = b.memo ? 0 : -ENOMEM;
	}
	if (!err && opts->omit_runtime_frames)
		err = hl_runtime_frames_find(&b.runtime, m, a);
	if (!err && d)
		err = add_grouped(&b, d);
	else if (!err)
		err = opts->inverted ? add_inverted(&b, a) : add_outermost_first(&b, a);
	if (!err && opts->fold)
		err = name_runs(&b);
	free(b.innermost);
	free(b.run_lengths);
	free(b.memo);
	hl_pair_map_fini(&b.families);
	hl_pair_map_fini(&b.group_runs);
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
