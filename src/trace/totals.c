/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c - sums and the peak. event_inline_internal.h has the code that runs for each event. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "trace/write/event_inline_internal.h"

void hl_totals_init(struct hl_totals *t)
{
	memset(t, 0, sizeof(*t));
}

#define SEGMENT_BYTES (sizeof(struct hl_totals_line) << HL_TOTALS_SEGMENT_BITS)

void hl_totals_fini(struct hl_totals *t)
{
	for (size_t i = 0; i < t->n_segments; i++)
		munmap(t->segments[i], SEGMENT_BYTES);
	free(t->segments);
	hl_totals_init(t);
}

/* Adds a zeroed segment. Existing segments never move, so nothing is copied for any number of
 * nodes. */
static int add_segment(struct hl_totals *t)
{
	struct hl_totals_line **segments =
		realloc(t->segments, (t->n_segments + 1) * sizeof(*segments));
	void *segment;

	if (!segments)
		return -ENOMEM;
	t->segments = segments;
	segment = mmap(
		NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (segment == MAP_FAILED)
		return -ENOMEM;
	if (t->n_segments > 0) /* most traces use little of their first segment */
		madvise(segment, SEGMENT_BYTES, MADV_HUGEPAGE);
	segments[t->n_segments++] = segment;
	return 0;
}

hl_cold int hl_totals_reserve_node(struct hl_totals *t, uint32_t node)
{
	while (node >> HL_TOTALS_SEGMENT_BITS >= t->n_segments)
		if (add_segment(t) < 0)
			return -ENOMEM;
	t->n_nodes = (size_t)node + 1;
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

void hl_totals_fold_lifetimes(struct hl_totals *t)
{
	for (unsigned units = 0; units < HL_TOTALS_YOUNG_UNITS; units++)
		t->lifetimes[hl_lifetime_class(units * HL_TIME_UNIT_NS)] += t->young[units];
	memset(t->young, 0, sizeof(t->young));
}

void hl_totals_at_peak(const struct hl_totals *t, size_t node, uint64_t *bytes, uint64_t *blocks)
{
	const struct hl_node_totals *n;

	*bytes = *blocks = 0;
	if (node >= t->n_nodes)
		return;
	n = hl_totals_node(t, node);
	*bytes = n->epoch == t->epoch ? n->peak_bytes : hl_sums_live_bytes(&n->sums);
	*blocks = n->epoch == t->epoch ? n->peak_blocks : hl_sums_live_blocks(&n->sums);
}
