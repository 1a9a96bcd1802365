/* calltree.c - see calltree.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"
#include "collect/calltree.h"

#define FIRST_SLOTS 1024u
#define NONE        UINT32_MAX

int hl_calltree_init(
	struct hl_calltree *t, int (*on_node)(void *, const struct hl_node *), void *arg)
{
	memset(t, 0, sizeof(*t));
	t->on_node = on_node;
	t->arg = arg;
	t->edge_mask = t->frame_mask = t->node_mask = FIRST_SLOTS - 1;
	t->edges = calloc(FIRST_SLOTS, sizeof(*t->edges));
	t->edge_hashes = malloc(FIRST_SLOTS * sizeof(*t->edge_hashes));
	t->frame_index = malloc(FIRST_SLOTS * sizeof(*t->frame_index));
	t->node_index = malloc(FIRST_SLOTS * sizeof(*t->node_index));
	if (!t->edges || !t->edge_hashes || !t->frame_index || !t->node_index) {
		hl_calltree_fini(t);
		return -ENOMEM;
	}
	memset(t->frame_index, 0xff, FIRST_SLOTS * sizeof(*t->frame_index));
	memset(t->node_index, 0xff, FIRST_SLOTS * sizeof(*t->node_index));
	return 0;
}

void hl_calltree_fini(struct hl_calltree *t)
{
	free(t->edges);
	free(t->edge_hashes);
	free(t->frame_index);
	free(t->node_index);
	hl_vec_free(&t->made);
	hl_vec_free(&t->ranges);
	hl_vec_free(&t->frames);
	memset(t, 0, sizeof(*t));
}

static void resolve(const struct hl_calltree *t, uint64_t pc, struct hl_node *frame)
{
	size_t lo = 0, hi = t->ranges.len;

	frame->module = HL_MODULE_NONE;
	frame->offset = pc;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct hl_range *r = &t->ranges.data[mid];

		/* A return address may be one past the last instruction: judge by the byte before.
		 */
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

/* The id of (module, offset). */
static int find_frame(struct hl_calltree *t, const struct hl_node *frame, uint32_t *id)
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

static uint64_t node_hash(const struct hl_made *m)
{
	return hl_hash_pair(m->parent, m->frame);
}

static void put_node(struct hl_calltree *t, uint32_t node)
{
	uint64_t i = node_hash(&t->made.data[node]) & t->node_mask;

	while (t->node_index[i] != NONE)
		i = (i + 1) & t->node_mask;
	t->node_index[i] = node;
}

/* All nodes that there are can be found by what they are. */
static int index_nodes(struct hl_calltree *t)
{
	uint64_t mask = t->node_mask;
	uint32_t *index = NULL;

	while (t->made.len * 2 > mask)
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
	while (t->n_indexed < t->made.len)
		put_node(t, t->n_indexed++);
	return 0;
}

/* NONE: it is not among those that are indexed. */
static uint32_t indexed_node(const struct hl_calltree *t, const struct hl_made *wanted)
{
	uint64_t i = node_hash(wanted) & t->node_mask;

	for (; t->node_index[i] != NONE; i = (i + 1) & t->node_mask) {
		const struct hl_made *m = &t->made.data[t->node_index[i]];

		if (m->parent == wanted->parent && m->frame == wanted->frame)
			break;
	}
	return t->node_index[i];
}

static int find_node(struct hl_calltree *t, uint32_t parent, uint32_t frame, uint32_t *node)
{
	struct hl_made wanted = {parent, frame};
	struct hl_node told;
	int err;

	*node = t->n_indexed ? indexed_node(t, &wanted) : NONE;
	if (*node != NONE)
		return 0;
	told = t->frames.data[frame];
	told.parent = parent;
	if (hl_vec_reserve(&t->made, t->made.len + 1))
		return -ENOMEM;
	err = t->on_node(t->arg, &told);
	if (err)
		return err;
	*node = (uint32_t)t->made.len;
	t->made.data[t->made.len++] = wanted;
	return hl_unlikely(t->twins) ? index_nodes(t) : 0;
}

/* The ranges change: what a pc stands for is known no more, but all nodes are. */
static int forget_edges(struct hl_calltree *t)
{
	memset(t->edges, 0, (t->edge_mask + 1) * sizeof(*t->edges));
	t->n_edges = 0;
	return index_nodes(t);
}

int hl_calltree_map(struct hl_calltree *t, const struct hl_range *r)
{
	size_t keep = 0, at;

	for (size_t i = 0; i < t->ranges.len; i++) {
		const struct hl_range *o = &t->ranges.data[i];

		if (o->start == r->start && o->end == r->end && o->bias == r->bias &&
			o->module == r->module)
			return 0;
		t->twins |= o->module == r->module && o->bias != r->bias;
	}
	if (hl_vec_reserve(&t->ranges, t->ranges.len + 1))
		return -ENOMEM;
	for (size_t i = 0; i < t->ranges.len; i++)
		if (t->ranges.data[i].end <= r->start || t->ranges.data[i].start >= r->end)
			t->ranges.data[keep++] = t->ranges.data[i];
	for (at = keep; at > 0 && t->ranges.data[at - 1].start > r->start; at--)
		t->ranges.data[at] = t->ranges.data[at - 1];
	t->ranges.data[at] = *r;
	t->ranges.len = keep + 1;
	return forget_edges(t);
}

static uint32_t edge_hash(uint32_t before, uint64_t pc)
{
	return (uint32_t)((before ^ pc) * HL_HASH_K >> 32);
}

/* The first free slot. */
static void put_edge(struct hl_calltree *t, const struct hl_edge *e, uint32_t hash)
{
	uint64_t i = hash & t->edge_mask;

	while (t->edges[i].pc)
		i = (i + 1) & t->edge_mask;
	t->edges[i] = *e;
	t->edge_hashes[i] = hash;
}

static int grow_edges(struct hl_calltree *t)
{
	struct hl_calltree old = *t;
	uint64_t mask = t->edge_mask * 2 + 1;
	struct hl_edge *edges = calloc(mask + 1, sizeof(*edges));
	uint32_t *hashes = malloc((mask + 1) * sizeof(*hashes));

	if (!edges || !hashes) {
		free(edges);
		free(hashes);
		return -ENOMEM;
	}
	t->edges = edges;
	t->edge_hashes = hashes;
	t->edge_mask = mask;
	for (uint64_t i = 0; i <= old.edge_mask; i++) {
		if (old.edges[i].pc)
			put_edge(t, &old.edges[i], old.edge_hashes[i]);
	}
	free(old.edges);
	free(old.edge_hashes);
	return 0;
}

/* A call that was not met before, as far as is remembered. */
static hl_cold int learn_edge(
	struct hl_calltree *t, uint32_t parent, uint64_t pc, uint32_t hash, uint32_t *node)
{
	struct hl_node f = {.parent = HL_NODE_NONE};
	uint32_t frame;
	int err;

	resolve(t, pc, &f);
	err = find_frame(t, &f, &frame);
	if (!err)
		err = find_node(t, parent, frame, node);
	if (!err && t->n_edges * 2 > t->edge_mask)
		err = grow_edges(t);
	if (err)
		return err;
	put_edge(t, &(struct hl_edge){.pc = pc, .parent = parent, .node = *node}, hash);
	t->n_edges++;
	return 0;
}

int hl_calltree_follow(struct hl_calltree *t, struct hl_step from, const uint64_t *pcs, size_t n,
	struct hl_step *steps)
{
	uint32_t hash = from.hash, parent = from.node;

	for (size_t i = 0; i < n; i++) {
		hash = edge_hash(hash, pcs[i]);
		steps[i].hash = hash;
		hl_fetch(&t->edges[hash & t->edge_mask]);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t pc = pcs[i] ? pcs[i] : 1, k = steps[i].hash & t->edge_mask;

		while (t->edges[k].pc && (t->edges[k].pc != pc || t->edges[k].parent != parent))
			k = (k + 1) & t->edge_mask;
		if (hl_likely(t->edges[k].pc)) {
			parent = t->edges[k].node;
		} else {
			int err = learn_edge(t, parent, pc, steps[i].hash, &parent);

			if (err)
				return err;
		}
		steps[i].node = parent;
	}
	return 0;
}
