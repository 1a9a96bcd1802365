/*
 * totals.c - sums and the peak, one event at a time. See totals.h for how the peak per node works.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "trace/totals.h"
#include "util/vec.h"

void hl_totals_init(struct hl_totals *t)
{
	memset(t, 0, sizeof(*t));
}

void hl_totals_fini(struct hl_totals *t)
{
	free(t->nodes);
	hl_totals_init(t);
}

static hl_cold int grow_nodes(struct hl_totals *t, size_t n)
{
	if (hl_vec_grow((void **)&t->nodes, &t->cap, n, sizeof(*t->nodes)) < 0)
		return -ENOMEM;
	memset(t->nodes + t->n_nodes, 0, (n - t->n_nodes) * sizeof(*t->nodes));
	t->n_nodes = n;
	return 0;
}

/* The node as it stood at the peak, kept before its first change after it. */
static inline void keep_peak(const struct hl_totals *t, struct hl_node_totals *n)
{
	if (n->epoch == t->epoch)
		return;
	n->peak_bytes = hl_sums_live_bytes(&n->sums);
	n->peak_blocks = hl_sums_live_blocks(&n->sums);
	n->epoch = t->epoch;
}

void hl_totals_apply_process(struct hl_totals *t, const struct hl_event *e)
{
	if (e->op == HL_OP_ALLOC) {
		uint64_t live;

		t->sums.alloc_blocks += e->blocks;
		t->sums.alloc_bytes += e->bytes;
		t->samples += e->blocks != 1 || e->bytes != e->size;
		t->last_alloc_event = t->events + 1;
		t->last_alloc_ordinal = e->ordinal;
		live = hl_sums_live_bytes(&t->sums);
		if (live > t->peak_bytes) {
			t->peak_bytes = live;
			t->peak_blocks = hl_sums_live_blocks(&t->sums);
			t->peak_time_ns = e->time_ns;
			t->epoch++;
		}
	} else {
		t->sums.free_blocks += e->blocks;
		t->sums.free_bytes += e->bytes;
		if (t->events == t->last_alloc_event && e->ordinal == t->last_alloc_ordinal &&
			t->events > 0)
			t->temporary += e->blocks;
		if (hl_unlikely(e->func == HL_FUNC_IMPLICIT)) {
			t->implicit_frees += e->blocks;
			t->implicit_bytes += e->bytes;
		}
	}
	t->events++;
}

int hl_totals_apply(struct hl_totals *t, const struct hl_event *e)
{
	struct hl_node_totals *n;

	if (hl_likely(e->node != HL_NODE_NONE)) {
		if (hl_unlikely(e->node >= t->n_nodes) && grow_nodes(t, (size_t)e->node + 1) < 0)
			return -ENOMEM;
		n = &t->nodes[e->node];
		keep_peak(t, n);
		if (e->op == HL_OP_ALLOC) {
			t->stacks += n->sums.alloc_blocks == 0;
			n->sums.alloc_blocks += e->blocks;
			n->sums.alloc_bytes += e->bytes;
		} else {
			n->sums.free_blocks += e->blocks;
			n->sums.free_bytes += e->bytes;
		}
	}
	hl_totals_apply_process(t, e);
	return 0;
}

void hl_totals_at_peak(const struct hl_totals *t, size_t node, uint64_t *bytes, uint64_t *blocks)
{
	const struct hl_node_totals *n;

	*bytes = *blocks = 0;
	if (node >= t->n_nodes)
		return;
	n = &t->nodes[node];
	*bytes = n->epoch == t->epoch ? n->peak_bytes : hl_sums_live_bytes(&n->sums);
	*blocks = n->epoch == t->epoch ? n->peak_blocks : hl_sums_live_blocks(&n->sums);
}
