/* SPDX-License-Identifier: Apache-2.0 */
/* calltree.c - see calltree.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/hash.h"
#include "collect/match/calltree.h"

#define INITIAL_SLOTS 1024u
#define MOVE_SLOTS    8u /* for each new edge: all are copied long before the new table is full */
#define NONE          UINT32_MAX

int hl_calltree_init(
	struct hl_calltree *t, int (*on_node)(void *, const struct hl_node *), void *arg)
{
	memset(t, 0, sizeof(*t));
	t->on_node = on_node;
	t->arg = arg;
	t->edge_mask = t->frame_mask = t->node_mask = INITIAL_SLOTS - 1;
	t->edge_shift = 64 - hl_log2(INITIAL_SLOTS);
	t->edges = calloc(INITIAL_SLOTS, sizeof(*t->edges));
	t->frame_index = malloc(INITIAL_SLOTS * sizeof(*t->frame_index));
	t->node_index = malloc(INITIAL_SLOTS * sizeof(*t->node_index));
	if (!t->edges || !t->frame_index || !t->node_index) {
		hl_calltree_fini(t);
		return -ENOMEM;
	}
	memset(t->frame_index, 0xff, INITIAL_SLOTS * sizeof(*t->frame_index));
	memset(t->node_index, 0xff, INITIAL_SLOTS * sizeof(*t->node_index));
	return 0;
}

void hl_calltree_fini(struct hl_calltree *t)
{
	free(t->edges);
	free(t->old_edges);
	free(t->frame_index);
	free(t->node_index);
	hl_vec_free(&t->nodes);
	hl_vec_free(&t->ranges);
	hl_vec_free(&t->frames);
	memset(t, 0, sizeof(*t));
}

static void resolve_pc(const struct hl_calltree *t, uint64_t pc, struct hl_node *frame)
{
	size_t lo = 0, hi = t->ranges.len;

	frame->module = HL_MODULE_NONE;
	frame->offset = pc;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct hl_module_range *r = &t->ranges.data[mid];

		/* A return address may be one past the last instruction: use the byte before it. */
		if (pc - 1 < r->start) {
			hi = mid;
		} else if (pc - 1 >= r->end) {
			lo = mid + 1;
		} else {
			frame->module = r->module;
			frame->offset = pc - r->bias;
			return;
		}
	}
}

static uint64_t frame_hash(const struct hl_node *f)
{
	return hl_hash_pair(f->module, f->offset);
}

static int grow_frames(struct hl_calltree *t)
{
	uint64_t mask = t->frame_mask * 2 + 1;
	uint32_t *index = malloc((mask + 1) * sizeof(*index));

	if (!index)
		return -ENOMEM;
	memset(index, 0xff, (mask + 1) * sizeof(*index));
	for (uint32_t f = 0; f < t->frames.len; f++) {
		uint64_t i = frame_hash(&t->frames.data[f]) & mask;

		while (index[i] != NONE)
			i = (i + 1) & mask;
		index[i] = f;
	}
	free(t->frame_index);
	t->frame_index = index;
	t->frame_mask = mask;
	return 0;
}

/* Finds or adds the id of (module, offset). */
static int find_or_add_frame(struct hl_calltree *t, const struct hl_node *frame, uint32_t *id)
{
	uint64_t i;

	if (t->frames.len * 2 > t->frame_mask && grow_frames(t))
		return -ENOMEM;
	for (i = frame_hash(frame) & t->frame_mask; t->frame_index[i] != NONE;
		i = (i + 1) & t->frame_mask) {
		const struct hl_node *f = &t->frames.data[t->frame_index[i]];

		if (f->module == frame->module && f->offset == frame->offset) {
			*id = t->frame_index[i];
			return 0;
		}
	}
	*id = (uint32_t)t->frames.len;
	if (hl_vec_push(&t->frames, *frame))
		return -ENOMEM;
	t->frame_index[i] = *id;
	return 0;
}

static uint64_t node_hash(const struct hl_call_edge *m)
{
	return hl_hash_pair(m->parent, m->frame);
}

static void index_node(struct hl_calltree *t, uint32_t node)
{
	uint64_t i = node_hash(&t->nodes.data[node]) & t->node_mask;

	while (t->node_index[i] != NONE)
		i = (i + 1) & t->node_mask;
	t->node_index[i] = node;
}

/* Adds all nodes to the index by (parent, frame). */
static int index_nodes(struct hl_calltree *t)
{
	uint64_t mask = t->node_mask;
	uint32_t *index = NULL;

	while (t->nodes.len * 2 > mask)
		mask = mask * 2 + 1;
	if (mask != t->node_mask) {
		index = malloc((mask + 1) * sizeof(*index));
		if (!index)
			return -ENOMEM;
		memset(index, 0xff, (mask + 1) * sizeof(*index));
		free(t->node_index);
		t->node_index = index;
		t->node_mask = mask;
		t->n_indexed = 0;
	}
	while (t->n_indexed < t->nodes.len)
		index_node(t, t->n_indexed++);
	return 0;
}

/* NONE: it is not indexed. */
static uint32_t find_indexed_node(const struct hl_calltree *t, const struct hl_call_edge *wanted)
{
	uint64_t i = node_hash(wanted) & t->node_mask;

	for (; t->node_index[i] != NONE; i = (i + 1) & t->node_mask) {
		const struct hl_call_edge *m = &t->nodes.data[t->node_index[i]];

		if (m->parent == wanted->parent && m->frame == wanted->frame)
			break;
	}
	return t->node_index[i];
}

static int find_or_add_node(struct hl_calltree *t, uint32_t parent, uint32_t frame, uint32_t *node)
{
	struct hl_call_edge wanted = {parent, frame};
	struct hl_node info;
	int err;

	*node = t->n_indexed ? find_indexed_node(t, &wanted) : NONE;
	if (*node != NONE)
		return 0;
	info = t->frames.data[frame];
	info.parent = parent;
	if (hl_vec_reserve(&t->nodes, t->nodes.len + 1))
		return -ENOMEM;
	err = t->on_node(t->arg, &info);
	if (err)
		return err;
	*node = (uint32_t)t->nodes.len;
	t->nodes.data[t->nodes.len++] = wanted;
	return hl_unlikely(t->has_duplicates) ? index_nodes(t) : 0;
}

/* The meaning of pcs has changed; all nodes stay valid and are found by the index. */
static int forget_edges(struct hl_calltree *t)
{
	memset(t->edges, 0, (t->edge_mask + 1) * sizeof(*t->edges));
	free(t->old_edges);
	t->old_edges = NULL;
	t->n_edges = 0;
	t->epoch++;
	return index_nodes(t);
}

/* True if a known frame would change with this range: it overlaps another range, or covers a pc
 * that had no module. */
static bool changes_frames(const struct hl_calltree *t, const struct hl_module_range *r)
{
	for (size_t i = 0; i < t->ranges.len; i++)
		if (t->ranges.data[i].end > r->start && t->ranges.data[i].start < r->end)
			return true;
	for (size_t i = 0; i < t->frames.len; i++) {
		const struct hl_node *f = &t->frames.data[i];

		if (f->module == HL_MODULE_NONE && f->offset - 1 >= r->start &&
			f->offset - 1 < r->end)
			return true;
	}
	return false;
}

int hl_calltree_map(struct hl_calltree *t, const struct hl_module_range *r)
{
	size_t n_kept = 0, at;
	bool forget;

	for (size_t i = 0; i < t->ranges.len; i++) {
		const struct hl_module_range *o = &t->ranges.data[i];

		if (o->start == r->start && o->end == r->end && o->bias == r->bias &&
			o->module == r->module)
			return 0;
		t->has_duplicates |= o->module == r->module && o->bias != r->bias;
	}
	forget = changes_frames(t, r);
	if (hl_vec_reserve(&t->ranges, t->ranges.len + 1))
		return -ENOMEM;
	for (size_t i = 0; i < t->ranges.len; i++)
		if (t->ranges.data[i].end <= r->start || t->ranges.data[i].start >= r->end)
			t->ranges.data[n_kept++] = t->ranges.data[i];
	for (at = n_kept; at > 0 && t->ranges.data[at - 1].start > r->start; at--)
		t->ranges.data[at] = t->ranges.data[at - 1];
	t->ranges.data[at] = *r;
	t->ranges.len = n_kept + 1;
	if (forget)
		return forget_edges(t);
	return t->has_duplicates ? index_nodes(t) : 0;
}

/* Extends a path by one pc. The rotation keeps neighbouring pcs from cancelling each other. */
hl_inline struct hl_path_step extend_path(struct hl_path_step s, uint64_t pc)
{
	uint64_t hash = ((s.hash << 23 | s.hash >> 41) ^ pc) * HL_HASH_K;

	hash ^= hash >> 32;
	return (struct hl_path_step){.hash = hash ? hash : 1,
		.check = (uint32_t)((s.check ^ pc) * UINT64_C(0xd6e8feb86659fd93) >> 32),
		.node = HL_NODE_UNRESOLVED};
}

/* HL_NODE_UNRESOLVED: not found. The slot is given by the high bits of the hash: a copy to a table
 * of twice the size keeps the order, so that both tables are traversed sequentially. */
hl_inline uint32_t find_in_table(const struct hl_path_step *edges, uint64_t mask, unsigned shift,
	const struct hl_path_step *s)
{
	uint64_t i = s->hash >> shift;

	for (; edges[i].hash; i = (i + 1) & mask)
		if (hl_likely(edges[i].hash == s->hash && edges[i].check == s->check))
			return edges[i].node;
	return HL_NODE_UNRESOLVED;
}

hl_inline uint32_t find_edge(const struct hl_calltree *t, const struct hl_path_step *s)
{
	uint32_t node;

	/* The old table first: a page of the new one that is read before it is written is faulted
	 * in twice. */
	if (hl_unlikely(t->old_edges != NULL)) {
		node = find_in_table(t->old_edges, t->edge_mask / 2, t->edge_shift + 1, s);
		if (node != HL_NODE_UNRESOLVED)
			return node;
	}
	return find_in_table(t->edges, t->edge_mask, t->edge_shift, s);
}

static void insert_edge(struct hl_calltree *t, const struct hl_path_step *s)
{
	uint64_t i = s->hash >> t->edge_shift;

	while (t->edges[i].hash)
		i = (i + 1) & t->edge_mask;
	t->edges[i] = *s;
}

/* Copies the next n slots of the old table to the new one. */
static void move_edges(struct hl_calltree *t, uint64_t n)
{
	uint64_t end = hl_min_u64(t->n_moved + n, t->edge_mask / 2 + 1);

	for (; t->n_moved < end; t->n_moved++)
		if (t->old_edges[t->n_moved].hash)
			insert_edge(t, &t->old_edges[t->n_moved]);
	if (end == t->edge_mask / 2 + 1) {
		free(t->old_edges);
		t->old_edges = NULL;
	}
}

static int grow_edges(struct hl_calltree *t)
{
	uint64_t slots = (t->edge_mask + 1) * 2;
	struct hl_path_step *edges = calloc(slots, sizeof(*edges));

	if (!edges)
		return -ENOMEM;
	t->old_edges = t->edges;
	t->n_moved = 0;
	t->edges = edges;
	t->edge_mask = slots - 1;
	t->edge_shift--;
	return 0;
}

/* Adds a path that is not in the table. */
static int add_edge(struct hl_calltree *t, uint32_t parent, uint64_t pc, struct hl_path_step *s)
{
	struct hl_node f = {.parent = HL_NODE_NONE};
	uint32_t frame;
	int err;

	resolve_pc(t, pc ? pc : 1, &f);
	err = find_or_add_frame(t, &f, &frame);
	if (!err)
		err = find_or_add_node(t, parent, frame, &s->node);
	if (t->old_edges)
		move_edges(t, MOVE_SLOTS);
	else if (!err && t->n_edges * 2 > t->edge_mask)
		err = grow_edges(t);
	if (err)
		return err;
	insert_edge(t, s);
	t->n_edges++;
	return 0;
}

/* The last step is unknown. Finds the longest known prefix and adds the steps after it. */
static hl_cold int add_path(struct hl_calltree *t, struct hl_path_step from, const uint64_t *pcs,
	size_t n, struct hl_path_step *steps)
{
	size_t i = n - 1;
	uint32_t parent;

	while (i > 0 && hl_calltree_node(t, &steps[i - 1]) == HL_NODE_UNRESOLVED)
		i--;
	parent = hl_calltree_node(t, i ? &steps[i - 1] : &from);
	for (; i < n; i++) {
		int err = add_edge(t, parent, pcs[i], &steps[i]);

		if (err)
			return err;
		parent = steps[i].node;
	}
	return 0;
}

uint32_t hl_calltree_node(const struct hl_calltree *t, struct hl_path_step *s)
{
	if (s->node == HL_NODE_UNRESOLVED)
		s->node = find_edge(t, s);
	return s->node;
}

int hl_calltree_follow(struct hl_calltree *t, struct hl_path_step from, const uint64_t *pcs,
	size_t n, struct hl_path_step *steps)
{
	struct hl_path_step at = from;

	if (hl_unlikely(n == 0))
		return 0;
	for (size_t i = 0; i < n; i++)
		steps[i] = at = extend_path(at, pcs[i]);
	steps[n - 1].node = find_edge(t, &at);
	if (hl_likely(steps[n - 1].node != HL_NODE_UNRESOLVED))
		return 0;
	return add_path(t, from, pcs, n, steps);
}
