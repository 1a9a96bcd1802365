/*
 * tree.c - from numbers per stack to a tree of frames; see tree.h.
 *
 * Nothing here recurses: stacks may be a million frames deep.
 */
#include "model/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/divide.h"
#include "model/model_internal.h"
#include "model/start.h"
#include "util/map.h"
#include "util/vec.h"

#define NOT_NEEDED UINT32_MAX

/* From the other end: frames in a row at which no stack went elsewhere, and steps beyond that. */
#define RUN_SHORT      200u
#define LONG_STEPS_MAX (1u << 22)

struct build {
	struct hl_model *m;
	const struct hl_tree_opts *opts;
	HL_VEC(struct hl_tree_node) nodes;
	struct hl_map by_parent; /* (parent, frame) -> node */
	uint32_t *innermost;     /* per recorded node: its innermost tree node */
	struct hl_map in_group;  /* divided: (recorded node, tree node of its group) -> that */
	HL_VEC(uint32_t) path;   /* recorded nodes on the way to a stack's outer end */
	struct hl_starts starts; /* what is left out */
	uint32_t long_steps;
};

static int child_of(struct build *b, uint32_t parent, struct hl_frame_ref ref, uint32_t *out)
{
	struct hl_tree_node node = {.parent = parent, .frame = ref.frame, .inlined = ref.inlined};
	int err;

	*out = hl_map_get(&b->by_parent, parent, ref.frame);
	if (*out != HL_MAP_NONE) {
		b->nodes.data[*out].inlined &= ref.inlined;
		return 0;
	}
	if (b->nodes.len >= HL_MAP_NONE)
		return -ENOMEM;
	*out = (uint32_t)b->nodes.len;
	err = hl_vec_push(&b->nodes, node);
	return err ? err : hl_map_put(&b->by_parent, parent, ref.frame, *out);
}

/* Marks every recorded node that has a number or stands above one that has: parents come first in
 * the numbering, so one pass from the end does it. */
static int mark_needed(struct build *b, const struct hl_answer *a)
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

static void add_self(struct build *b, uint32_t at, const struct hl_value *v)
{
	hl_value_add(&b->nodes.data[at].self, v);
}

/* Moves *at to the function that the stack called, if it is known. */
static int add_call(struct build *b, uint32_t node, uint32_t *at)
{
	struct hl_frame_ref ref = {0};
	int err = hl_model_call_frame(b->m, node, &ref.frame);

	return err || ref.frame == HL_NODE_NONE ? err : child_of(b, *at, ref, at);
}

/* Moves *at down the frames of one recorded node. */
static int add_frames(struct build *b, uint32_t node, uint32_t *at)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = child_of(b, *at, refs[i], at);
	return err;
}

static int add_value(struct build *b, uint32_t node, uint32_t at, const struct hl_value *v)
{
	int err = 0;

	if (v->blocks && b->opts->calls)
		err = add_call(b, node, &at);
	if (!err)
		add_self(b, at, v);
	return err;
}

/* What begins in frames that are left out begins at the root. A stack of nothing else is there in
 * full: such a run is short. */
static int add_start(struct build *b, uint32_t node, const struct hl_value *v)
{
	uint32_t run[UINT8_MAX], n = 0, at = 0;
	int err = 0;

	b->innermost[node] = 0;
	if (!v->blocks)
		return 0;
	for (uint32_t i = node; i != HL_NODE_NONE; i = hl_model_parent(b->m, i))
		run[n++] = i;
	while (n > 0 && !err)
		err = add_frames(b, run[--n], &at);
	return err ? err : add_value(b, node, at, v);
}

static int add_recorded(struct build *b, uint32_t node, const struct hl_value *v)
{
	uint32_t parent = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(b->m, node);
	uint32_t at = parent == HL_NODE_NONE ? 0 : b->innermost[parent];
	int err;

	if (hl_starts_have(&b->starts, node))
		return add_start(b, node, v);
	err = add_frames(b, node, &at);
	if (err)
		return err;
	if (node != HL_NODE_NONE)
		b->innermost[node] = at;
	return add_value(b, node, at, v);
}

/* --- divided --- */

/* From the group down to the innermost frame of the stack, over nodes that other stacks of the
 * group may have made: so deep stacks that share their callers cost no more than the tree is large.
 */
static int add_in_group(struct build *b, uint32_t node, uint32_t group, const struct hl_value *v)
{
	bool whole = hl_starts_have(&b->starts, node);
	uint32_t at = group;
	int err = 0;

	b->path.len = 0;
	for (uint32_t i = node; !err && (i != HL_NODE_NONE || b->path.len == 0);
		i = i == HL_NODE_NONE ? i : hl_model_parent(b->m, i)) {
		uint32_t known = whole ? HL_MAP_NONE : hl_map_get(&b->in_group, i, group);

		if (known != HL_MAP_NONE)
			at = known;
		if (known != HL_MAP_NONE || (!whole && hl_starts_have(&b->starts, i)))
			break;
		err = hl_vec_push(&b->path, i);
	}
	while (b->path.len > 0 && !err) {
		uint32_t i = b->path.data[--b->path.len];

		err = add_frames(b, i, &at);
		if (!err && !whole)
			err = hl_map_put(&b->in_group, i, group, at);
	}
	return err ? err : add_value(b, node, at, v);
}

/* The tree node of a row's group. */
static int add_group(struct build *b, const struct hl_divided *d, size_t row, uint32_t *at)
{
	const struct hl_cross_row *r = &d->cross.rows[row];
	struct hl_frame_ref ref = {.frame = hl_division_frame(&d->division, r->node, r->key)};

	return child_of(b, 0, ref, at);
}

/* --- from the other end --- */

/* A stack on its way outwards. */
struct walker {
	uint32_t node; /* recorded */
	uint32_t left; /* frames of that node that are still to come */
	uint32_t at;   /* in the tree */
	uint32_t run;  /* frames since a part went elsewhere */
	bool whole;    /* not even what is left out elsewhere is left out */
	struct hl_value v;
};

static void add_total(struct build *b, const struct walker *w)
{
	hl_value_add(&b->nodes.data[w->at].total, &w->v);
}

/* One frame outwards. *more: there was one. */
static int step(struct build *b, struct walker *w, bool *more)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err;

	*more = false;
	while (w->left == 0) {
		w->node = w->node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(b->m, w->node);
		if (w->node == HL_NODE_NONE || (!w->whole && hl_starts_have(&b->starts, w->node)))
			return 0;
		err = hl_model_node_frames(b->m, w->node, &refs, &n);
		if (err)
			return err;
		w->left = (uint32_t)n;
	}
	err = hl_model_node_frames(b->m, w->node, &refs, &n);
	if (!err)
		err = child_of(b, w->at, refs[--w->left], &w->at);
	if (err)
		return err;
	*more = true;
	add_total(b, w);
	return 0;
}

static int start_walker(
	struct build *b, struct walker *w, uint32_t node, uint32_t at, const struct hl_value *v)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	*w = (struct walker){.node = node,
		.left = (uint32_t)n,
		.at = at,
		.whole = hl_starts_have(&b->starts, node),
		.v = *v};
	if (!err && b->opts->calls)
		err = add_call(b, node, &w->at);
	if (!err)
		add_total(b, w);
	return err;
}

static uint64_t measure(const struct hl_value *v, bool by_blocks)
{
	return by_blocks ? v->blocks : v->bytes;
}

/* Is what the walker has come to large enough, and not too deep, to be told apart further? All
 * others have come as far, so totals here and above are whole. */
static bool goes_on(struct build *b, struct walker *w)
{
	struct hl_tree_node *n = &b->nodes.data[w->at];
	const struct hl_tree_node *parent = &b->nodes.data[n->parent];
	bool split = n->total.blocks != parent->total.blocks;

	n->depth = parent->depth + split;
	w->run = split ? 0 : w->run + 1;
	if (w->run > RUN_SHORT && b->long_steps++ >= LONG_STEPS_MAX) {
		n->cut = true;
		b->long_steps = LONG_STEPS_MAX;
		return false;
	}
	return measure(&n->total, b->opts->by_blocks) >= b->opts->least &&
	       (b->opts->depth == 0 || n->depth <= b->opts->depth);
}

/*
 * All stacks go one frame outwards at a time. What is then too small to be shown goes no further:
 * else the tree would be as large as all stacks together, which are not merged from this end. Nor
 * does what is too deep: where each level of a recursion allocates, all of its stacks would go all
 * the way. Where only the inner levels allocate, none goes elsewhere for long, and all would go the
 * same long way together: so the steps of such ways are counted, and after very many the rest is
 * cut, and marked.
 */
static int walk_outwards(struct build *b, struct walker *walkers, size_t n)
{
	int err = 0;

	while (n > 0 && !err) {
		size_t kept = 0;

		for (size_t i = 0; i < n && !err; i++) {
			bool more;

			err = step(b, &walkers[i], &more);
			if (!err && more)
				walkers[kept++] = walkers[i];
			else
				add_self(b, walkers[i].at, &walkers[i].v);
		}
		n = kept;
		kept = 0;
		for (size_t i = 0; i < n && !err; i++) {
			if (goes_on(b, &walkers[i]))
				walkers[kept++] = walkers[i];
			else
				add_self(b, walkers[i].at, &walkers[i].v);
		}
		n = kept;
	}
	return err;
}

static int add_inverted(struct build *b, const struct hl_answer *a)
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
	hl_progress_begin(HL_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		hl_names_tick(i, a->n_keys);
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

static int add_divided(struct build *b, const struct hl_divided *d)
{
	bool inverted = b->opts->inverted;
	struct walker *walkers = inverted ? malloc((d->cross.n + 1) * sizeof(*walkers)) : NULL;
	int err = inverted && !walkers ? -ENOMEM : 0;

	hl_progress_begin(HL_NAMES);
	for (size_t i = 0; i < d->cross.n && !err; i++) {
		const struct hl_cross_row *r = &d->cross.rows[i];
		uint32_t at;

		hl_names_tick((uint32_t)i, (uint32_t)d->cross.n);
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

static void add_up(struct hl_tree *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++)
		t->nodes[i].total = t->nodes[i].self;
	for (uint32_t i = t->n_nodes; i-- > 1;) {
		struct hl_tree_node *parent = &t->nodes[t->nodes[i].parent];

		hl_value_add(&parent->total, &t->nodes[i].total);
		parent->n_children++;
	}
}

struct order {
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

static int by_size(const void *pa, const void *pb, void *arg)
{
	const struct order *o = arg;
	const struct hl_tree_node *a = &o->t->nodes[*(const uint32_t *)pa];
	const struct hl_tree_node *b = &o->t->nodes[*(const uint32_t *)pb];
	const struct hl_frame *fa = hl_model_frame(o->m, a->frame),
			      *fb = hl_model_frame(o->m, b->frame);
	int c;

	for (int second = 0; second < 2; second++) {
		uint64_t size_a = measure(&a->total, o->by_blocks ^ second),
			 size_b = measure(&b->total, o->by_blocks ^ second);

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
	struct order o = {.m = m, .t = t, .by_blocks = by_blocks};
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
				sizeof(*t->children), by_size, &o);
	}
	return 0;
}

/* Only what was shortened can look like something else. */
static int mark_twins(struct hl_tree *t, struct hl_model *m)
{
	struct hl_map seen = {0};
	int err = 0;

	for (uint32_t i = 1; i < t->n_nodes && !err; i++) {
		struct hl_tree_node *n = &t->nodes[i], *twin;
		const struct hl_frame *f = hl_model_frame(m, n->frame);
		uint32_t first;

		if (t->nodes[n->parent].n_children < 2 || strcmp(f->shown, f->function) == 0)
			continue;
		err = hl_frame_look(&seen, n->parent, f, i, &first);
		twin = &t->nodes[first];
		if (!err && strcmp(hl_model_frame(m, twin->frame)->function, f->function) != 0)
			n->full = twin->full = true;
	}
	hl_map_fini(&seen);
	return err;
}

static int add_outermost_first(struct build *b, const struct hl_answer *a)
{
	int err = mark_needed(b, a);

	hl_progress_begin(HL_NAMES);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		hl_names_tick(i, a->n_keys);
		if (b->innermost[i] != NOT_NEEDED)
			err = add_recorded(b, i, &a->values[i]);
	}
	hl_progress_end();
	if (!err && a->values[a->n_keys].blocks > 0)
		err = add_recorded(b, HL_NODE_NONE, &a->values[a->n_keys]);
	return err;
}

static int build(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a,
	const struct hl_divided *d, const struct hl_tree_opts *opts)
{
	struct build b = {.m = m, .opts = opts};
	struct hl_tree_node root = {0};
	int err = hl_vec_push(&b.nodes, root);

	memset(t, 0, sizeof(*t));
	if (!err && opts->no_starts)
		err = hl_starts_find(&b.starts, m, a);
	if (!err && d)
		err = add_divided(&b, d);
	else if (!err)
		err = opts->inverted ? add_inverted(&b, a) : add_outermost_first(&b, a);
	free(b.innermost);
	hl_map_fini(&b.in_group);
	hl_vec_free(&b.path);
	hl_starts_fini(&b.starts);
	hl_map_fini(&b.by_parent);
	t->nodes = b.nodes.data;
	t->n_nodes = (uint32_t)b.nodes.len;
	if (!err) {
		add_up(t);
		err = sort_children(t, m, opts->by_blocks);
		if (!err)
			err = mark_twins(t, m);
	}
	if (err)
		hl_tree_fini(t);
	return err;
}

int hl_tree_build(struct hl_tree *t, struct hl_model *m, const struct hl_answer *a,
	const struct hl_tree_opts *opts)
{
	return build(t, m, a, NULL, opts);
}

int hl_tree_build_divided(struct hl_tree *t, struct hl_model *m, const struct hl_divided *d,
	const struct hl_tree_opts *opts)
{
	return build(t, m, &d->by_stack, d, opts);
}

void hl_tree_fini(struct hl_tree *t)
{
	free(t->nodes);
	free(t->children);
	memset(t, 0, sizeof(*t));
}
