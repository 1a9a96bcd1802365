/*
 * totals.c - sums and the peak. What each event does to them is in each_internal.h.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/each_internal.h"
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

hl_cold int hl_totals_reach(struct hl_totals *t, uint32_t node)
{
	size_t n = (size_t)node + 1;

	if (hl_vec_grow((void **)&t->nodes, &t->cap, n, sizeof(*t->nodes)) < 0)
		return -ENOMEM;
	memset(t->nodes + t->n_nodes, 0, (n - t->n_nodes) * sizeof(*t->nodes));
	t->n_nodes = n;
	return 0;
}

void hl_totals_apply_process(struct hl_totals *t, const struct hl_event *e)
{
	hl_totals_process_event(t, e);
}

int hl_totals_apply(struct hl_totals *t, const struct hl_event *e)
{
	return hl_totals_event(t, e);
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
