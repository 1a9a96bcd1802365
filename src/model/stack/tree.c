/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - builds a tree of frames from values per stack; see tree.h. Stacks are added from the
 * outermost frame inwards here.
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
#include "model/stack/site.h"
#include "model/stack/stack_rules.h"
#include "model/stack/tree_builder_internal.h"
#include "util/strbuf.h"

#define NOT_NEEDED UINT32_MAX

/* Where the frames of a stack continue from the outermost one inwards. */
struct place {
	uint32_t at;  /* the tree node */
	uint32_t run; /* how many frames of it are folded, on this path; 0: it is a frame */
};

int hl_tree_find_or_add_child(
	struct hl_tree_builder *b, uint32_t parent, struct hl_frame_ref ref, uint32_t *out)
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

int hl_tree_is_folded(struct hl_tree_builder *b, uint32_t frame, bool *folded)
{
	enum hl_frame_kind kind = HL_FRAME_OWN;
	int err = b->opts->fold && !b->whole ? hl_model_frame_kind(b->m, frame, &kind) : 0;

	*folded = hl_frame_kind_is_folded(kind);
	return err;
}

/* The family of a run with this outermost frame: the wrapper itself, or a library. */
static int make_family(struct hl_tree_builder *b, uint32_t frame, uint32_t *family)
{
	const struct hl_frame *f = hl_model_frame(b->m, frame);
	struct hl_strbuf name = {0};
	enum hl_frame_kind kind;
	int err = hl_model_frame_kind(b->m, frame, &kind);

	if (!err && kind == HL_FRAME_WRAPPER)
		hl_strbuf_puts(&name, f->entry ? f->entry : f->display_name);
	else if (!err)
		hl_frame_put_family(&name, f);
	if (!err)
		err = hl_strbuf_error(&name);
	if (!err)
		err = hl_model_fold_frame(b->m, hl_strbuf_str(&name), frame, family);
	hl_strbuf_fini(&name);
	return err;
}

int hl_tree_find_family(struct hl_tree_builder *b, uint32_t frame, uint32_t *family)
{
	int err;

	*family = hl_pair_map_get(&b->families, frame, 0);
	if (*family != HL_PAIR_MAP_NONE)
		return 0;
	err = make_family(b, frame, family);
	return err ? err : hl_pair_map_put(&b->families, frame, 0, *family);
}

/* Adds a run of `frames` frames, or this many frames more to one that has begun. */
int hl_tree_find_or_add_run(
	struct hl_tree_builder *b, uint32_t parent, uint32_t outer, uint32_t frames, uint32_t *out)
{
	struct hl_frame_ref ref = {0};
	struct hl_tree_node *n;
	int err = hl_tree_find_family(b, outer, &ref.frame);

	if (!err)
		err = hl_tree_find_or_add_child(b, parent, ref, out);
	if (err)
		return err;
	n = &b->nodes.data[*out];
	n->outer = n->folded == 0 || n->outer == outer ? outer : HL_NODE_NONE;
	n->folded = hl_max_u32(n->folded, frames);
	return 0;
}

/* Moves a place one frame inwards. */
static int add_frame_at(struct hl_tree_builder *b, struct hl_frame_ref ref, struct place *p)
{
	bool folded;
	int err = hl_tree_is_folded(b, ref.frame, &folded);

	if (err)
		return err;
	if (!folded) {
		p->run = 0;
		return hl_tree_find_or_add_child(b, p->at, ref, &p->at);
	}
	if (p->run == 0) {
		p->run = 1;
		return hl_tree_find_or_add_run(b, p->at, ref.frame, 1, &p->at);
	}
	p->run += p->run < UINT32_MAX;
	b->nodes.data[p->at].folded = hl_max_u32(b->nodes.data[p->at].folded, p->run);
	return 0;
}

/* Gives each run its name. A run of one frame becomes that frame. */
static int name_runs(struct hl_tree_builder *b)
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
static int mark_needed(struct hl_tree_builder *b, const struct hl_answer *a)
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

void hl_tree_add_self(struct hl_tree_builder *b, uint32_t at, const struct hl_value *v)
{
	hl_value_add(&b->nodes.data[at].self, v);
}

/* Moves *at to the node of the function that the stack called, if it is known. */
int hl_tree_add_call(struct hl_tree_builder *b, uint32_t node, uint32_t *at)
{
	struct hl_frame_ref ref = {0};
	int err = hl_model_called_function_frame(b->m, node, &ref.frame);

	return err || ref.frame == HL_NODE_NONE ? err : hl_tree_find_or_add_child(b, *at, ref, at);
}

bool hl_tree_begins_at(struct hl_tree_builder *b, uint32_t frame)
{
	const struct hl_frame *f = hl_model_frame(b->m, frame);

	return strcmp(f->function, b->opts->from) == 0 ||
	       (f->entry && strcmp(f->entry, b->opts->from) == 0);
}

/* Moves a place down the frames of one recorded node. */
static int add_frames(struct hl_tree_builder *b, uint32_t node, struct place *p)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	for (size_t i = 0; i < n && !err; i++) {
		if (b->opts->from && p->at == 0 && !hl_tree_begins_at(b, refs[i].frame))
			continue;
		err = add_frame_at(b, refs[i], p);
	}
	return err;
}

/* Adds the value to the tree node of the stack's site, which is there already. */
static int add_site(struct hl_tree_builder *b, uint32_t node, uint32_t at, const struct hl_value *v)
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

static int add_value(
	struct hl_tree_builder *b, uint32_t node, uint32_t at, const struct hl_value *v)
{
	int err = 0;

	if (v->blocks && b->opts->with_sites)
		err = add_site(b, node, at, v);
	if (!err && v->blocks && b->opts->with_called_functions && !(b->opts->from && at == 0))
		err = hl_tree_add_call(b, node, &at);
	if (!err)
		hl_tree_add_self(b, at, v);
	return err;
}

/* A frame before main. It maps to the root, so its callees begin there. A stack that ends in such a
 * frame is added with all its frames: such a run is short (FRAMES_MAX in runtime_frames.c). */
static int add_runtime_frame(struct hl_tree_builder *b, uint32_t node, const struct hl_value *v)
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

static int add_recorded(struct hl_tree_builder *b, uint32_t node, const struct hl_value *v)
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
static int add_in_group(
	struct hl_tree_builder *b, uint32_t node, uint32_t group, const struct hl_value *v)
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
static int add_group(
	struct hl_tree_builder *b, const struct hl_grouped_stacks *d, size_t row, uint32_t *at)
{
	const struct hl_cross_sums_row *r = &d->cross.rows[row];
	struct hl_frame_ref ref = {.frame = hl_grouping_frame(&d->grouping, r->node, r->key)};

	return hl_tree_find_or_add_child(b, 0, ref, at);
}

static int add_grouped(struct hl_tree_builder *b, const struct hl_grouped_stacks *d)
{
	bool inverted = b->opts->inverted;
	struct hl_tree_walker *walkers =
		inverted ? malloc((d->cross.n + 1) * sizeof(*walkers)) : NULL;
	int err = inverted && !walkers ? -ENOMEM : 0;

	hl_work_begin(&b->m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (size_t i = 0; i < d->cross.n && !err; i++) {
		const struct hl_cross_sums_row *r = &d->cross.rows[i];
		uint32_t at;

		err = hl_naming_tick(b->m, (uint32_t)i, (uint32_t)d->cross.n);
		if (!err)
			err = add_group(b, d, i, &at);
		if (!err)
			err = inverted
				      ? hl_tree_start_walker(b, &walkers[i], r->node, at, &r->value)
				      : add_in_group(b, r->node, at, &r->value);
	}
	hl_work_end(&b->m->work, HL_WORK_SHORT);
	if (!err && inverted)
		err = hl_tree_walk_outwards(b, walkers, d->cross.n);
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
		uint64_t size_a = hl_tree_order_value(&a->total, o->by_blocks ^ second),
			 size_b = hl_tree_order_value(&b->total, o->by_blocks ^ second);

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

static int add_outermost_first(struct hl_tree_builder *b, const struct hl_answer *a)
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
	struct hl_tree_builder b = {.m = m, .opts = opts};
	struct hl_tree_node root = {.via = HL_NODE_NONE};
	int err = hl_vec_push(&b.nodes, root);

	memset(t, 0, sizeof(*t));
	if (!err && (opts->fold || opts->with_sites))
		err = hl_model_find_wrappers(m);
	if (!err && opts->fold && opts->inverted) {
		b.memo = calloc((size_t)hl_model_n_nodes(m) + 1, sizeof(*b.memo));
		err = b.memo ? 0 : -ENOMEM;
	}
	if (!err && opts->from && opts->inverted) {
		b.starts = calloc((size_t)hl_model_n_nodes(m) + 1, sizeof(*b.starts));
		err = b.starts ? 0 : -ENOMEM;
	}
	if (!err && opts->omit_runtime_frames)
		err = hl_runtime_frames_find(&b.runtime, m, a);
	if (!err && d)
		err = add_grouped(&b, d);
	else if (!err)
		err = opts->inverted ? hl_tree_add_inverted(&b, a) : add_outermost_first(&b, a);
	if (!err && opts->fold)
		err = name_runs(&b);
	free(b.innermost);
	free(b.run_lengths);
	free(b.memo);
	free(b.starts);
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
