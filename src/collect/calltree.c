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
	t->frame_index = malloc(FIRST_SLOTS * sizeof(*t->frame_index));
	t->nodes = malloc(FIRST_SLOTS * sizeof(*t->nodes));
	if (!t->edges || !t->frame_index || !t->nodes) {
		hl_calltree_fini(t);
		return -ENOMEM;
	}
	memset(t->frame_index, 0xff, FIRST_SLOTS * sizeof(*t->frame_index));
	memset(t->nodes, 0xff, FIRST_SLOTS * sizeof(*t->nodes));
	return 0;
}

void hl_calltree_fini(struct hl_calltree *t)
{
	free(t->edges);
	free(t->frame_index);
	free(t->nodes);
	hl_vec_free(&t->ranges);
	hl_vec_free(&t->frames);
	memset(t, 0, sizeof(*t));
}

static void forget_edges(struct hl_calltree *t)
{
	memset(t->edges, 0, (t->edge_mask + 1) * sizeof(*t->edges));
	t->n_edges = 0;
}

int hl_calltree_map(struct hl_calltree *t, const struct hl_range *r)
{
	size_t keep = 0, at;

	for (size_t i = 0; i < t->ranges.len; i++) {
		const struct hl_range *o = &t->ranges.data[i];

		if (o->start == r->start && o->end == r->end && o->bias == r->bias &&
			o->module == r->module)
			return 0;
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
	forget_edges(t);
	return 0;
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

static int grow_nodes(struct hl_calltree *t)
{
	uint64_t mask = t->node_mask * 2 + 1;
	void *fresh = malloc((mask + 1) * sizeof(*t->nodes));
	typeof(t->nodes) to = fresh;

	if (!fresh)
		return -ENOMEM;
	memset(fresh, 0xff, (mask + 1) * sizeof(*t->nodes));
	for (uint64_t k = 0; k <= t->node_mask; k++) {
		uint64_t i;

		if (t->nodes[k].node == NONE)
			continue;
		i = hl_hash_pair(t->nodes[k].parent, t->nodes[k].frame) & mask;
		while (to[i].node != NONE)
			i = (i + 1) & mask;
		to[i] = t->nodes[k];
	}
	free(t->nodes);
	t->nodes = fresh;
	t->node_mask = mask;
	return 0;
}

static int find_node(struct hl_calltree *t, uint32_t parent, uint32_t frame, uint32_t *node)
{
	struct hl_node made;
	uint64_t i;
	int err;

	if ((uint64_t)t->n_nodes * 2 > t->node_mask && grow_nodes(t))
		return -ENOMEM;
	for (i = hl_hash_pair(parent, frame) & t->node_mask; t->nodes[i].node != NONE;
		i = (i + 1) & t->node_mask)
		if (t->nodes[i].parent == parent && t->nodes[i].frame == frame) {
			*node = t->nodes[i].node;
			return 0;
		}
	made = t->frames.data[frame];
	made.parent = parent;
	err = t->on_node(t->arg, &made);
	if (err)
		return err;
	t->nodes[i].parent = parent;
	t->nodes[i].frame = frame;
	*node = t->nodes[i].node = t->n_nodes++;
	return 0;
}

static uint32_t edge_hash(uint32_t before, uint64_t pc)
{
	return (uint32_t)((before ^ pc) * HL_HASH_K >> 32);
}

/* A cache: it fills again. */
static int grow_edges(struct hl_calltree *t)
{
	uint64_t mask = t->edge_mask * 2 + 1;
	void *p = calloc(mask + 1, sizeof(*t->edges));

	if (!p)
		return -ENOMEM;
	free(t->edges);
	t->edges = p;
	t->edge_mask = mask;
	t->n_edges = 0;
	return 0;
}

/* A call that was not met before, as far as is remembered. */
static hl_cold int learn_edge(
	struct hl_calltree *t, uint32_t parent, uint64_t pc, uint32_t hash, uint32_t *node)
{
	struct hl_node f = {.parent = HL_NODE_NONE};
	uint32_t frame;
	uint64_t i;
	int err;

	resolve(t, pc, &f);
	err = find_frame(t, &f, &frame);
	if (!err)
		err = find_node(t, parent, frame, node);
	if (!err && t->n_edges * 2 > t->edge_mask)
		err = grow_edges(t);
	if (err)
		return err;
	for (i = hash & t->edge_mask; t->edges[i].pc; i = (i + 1) & t->edge_mask)
		;
	t->edges[i] = (struct hl_edge){.pc = pc, .parent = parent, .node = *node};
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
		__builtin_prefetch(&t->edges[hash & t->edge_mask]);
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
