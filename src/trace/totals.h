/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.h - sums over events: of the whole process and of each node, and the peak.
 *
 * This is the only code that computes sums from events: the writer uses it while recording, a
 * reader for the chunks that it decodes. O(1) for each event. If several maxima are equal, the
 * earliest is the peak.
 *
 * Peak per node: a new maximum of the live bytes starts a new epoch. A node with an older epoch has
 * not changed since the peak, so its live sums are those of the peak. Before its first change after
 * the peak they are copied to peak_bytes and peak_blocks. A MOVED pair is one step: the maximum is
 * checked only after its second half.
 */
#ifndef HL_TRACE_TOTALS_H
#define HL_TRACE_TOTALS_H

#include <stddef.h>

#include "base/attr.h"
#include "trace/event.h"

#define HL_TOTALS_YOUNG_UNITS 128u

struct hl_node_totals {
	struct hl_sums sums;
	uint64_t peak_bytes, peak_blocks; /* at the process's peak; read by hl_totals_at_peak */
	uint64_t epoch;
};

struct hl_totals {
	struct hl_sums sums; /* includes implicit frees, or live would be wrong */
	uint64_t implicit_frees, implicit_bytes;
	uint64_t peak_bytes, peak_blocks, peak_time_ns;
	uint64_t temporary; /* blocks freed by the very next event */
	uint64_t events;
	uint64_t samples; /* allocations with a weight; if not 0, sums are estimates */
	uint64_t stacks;  /* nodes that allocated at least once */
	uint64_t epoch;
	uint64_t last_alloc_event; /* `events` after the newest allocation, and its ordinal */
	uint64_t last_alloc_ordinal;
	struct hl_totals_line **segments; /* n_nodes entries are used */
	size_t n_nodes, n_segments;
	/* Freed blocks of the process by hl_lifetime_class. A writer counts the youngest by their
	 * lifetime in units, which takes fewer instructions; hl_totals_fold_lifetimes adds them. */
	uint64_t lifetimes[HL_LIFETIME_CLASSES_MAX];
	uint64_t young[HL_TOTALS_YOUNG_UNITS];
};

/* Each node has its own cache line. A segment fills a huge page. */
struct hl_totals_line {
	struct hl_node_totals node;
	uint64_t unused;
};
_Static_assert(sizeof(struct hl_totals_line) == 64, "a cache line");
#define HL_TOTALS_SEGMENT_BITS 15u

/* Requires node < n_nodes. */
static inline struct hl_node_totals *hl_totals_node(const struct hl_totals *t, size_t node)
{
	return &t->segments[node >> HL_TOTALS_SEGMENT_BITS]
			   [node & ((1u << HL_TOTALS_SEGMENT_BITS) - 1)]
				   .node;
}

void hl_totals_init(struct hl_totals *t);
void hl_totals_fini(struct hl_totals *t);
/* Returns 0 or -ENOMEM. An event whose node is HL_NODE_NONE counts only for the process. */
int hl_totals_apply(struct hl_totals *t, const struct hl_event *event);
/* Updates only the sums of the process: no node, and not `stacks`. */
void hl_totals_apply_process(struct hl_totals *t, const struct hl_event *event);
/* Makes the totals large enough for this node. Returns 0 or -ENOMEM. */
int hl_totals_reserve_node(struct hl_totals *t, uint32_t node);
/* The live sums of one node at the peak of the process so far. */
void hl_totals_at_peak(const struct hl_totals *t, size_t node, uint64_t *bytes, uint64_t *blocks);

/* Counts a freed block. hl_totals_apply does not: of some blocks a reader knows only the class. */
static inline void hl_totals_count_lifetime(struct hl_totals *t, uint64_t units, uint64_t blocks)
{
	if (hl_likely(units < HL_TOTALS_YOUNG_UNITS))
		t->young[units] += blocks;
	else
		t->lifetimes[hl_lifetime_class(units * HL_TIME_UNIT_NS)] += blocks;
}
/* Makes `lifetimes` those of all blocks. */
void hl_totals_fold_lifetimes(struct hl_totals *t);

static inline uint64_t hl_sums_live_bytes(const struct hl_sums *s)
{
	return s->alloc_bytes - s->free_bytes;
}

static inline void hl_sums_add(struct hl_sums *s, enum hl_op op, uint64_t blocks, uint64_t bytes)
{
	if (op == HL_OP_ALLOC) {
		s->alloc_blocks += blocks;
		s->alloc_bytes += bytes;
	} else {
		s->free_blocks += blocks;
		s->free_bytes += bytes;
	}
}

static inline uint64_t hl_sums_live_blocks(const struct hl_sums *s)
{
	return s->alloc_blocks - s->free_blocks;
}

#endif
