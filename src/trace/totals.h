/*
 * totals.h - sums over events: of the whole process and of each node, and the peak.
 *
 * The one place where events become numbers: the writer keeps one while recording, a reader
 * makes one for what it has to decode. O(1) an event. The earliest maximum wins ties.
 *
 * Peak per node: a new maximum of the live bytes starts a new epoch. A node whose epoch is older
 * still stands as it stood at the peak until its first change after it; so before a node of an
 * older epoch changes, its live sums are copied to at_peak. A MOVED pair is one step: the maximum
 * is judged only after its second half.
 */
#ifndef HL_TRACE_TOTALS_H
#define HL_TRACE_TOTALS_H

#include <stddef.h>

#include "trace/event.h"

struct hl_node_totals {
	struct hl_sums sums;
	uint64_t peak_bytes,
		peak_blocks; /* live when the process was at its peak; read by hl_totals_at_peak */
	uint64_t epoch;
};

struct hl_totals {
	struct hl_sums sums; /* implicit frees are in here, or live would be wrong */
	uint64_t implicit_frees, implicit_bytes;
	uint64_t peak_bytes, peak_blocks, peak_time_ns;
	uint64_t temporary; /* freed by the very next event */
	uint64_t events;
	uint64_t samples; /* allocations that stand for others: if there are any, sums are estimates
			   */
	uint64_t stacks;  /* nodes that allocated */
	uint64_t epoch;
	uint64_t last_alloc_event; /* events + 1 of the newest allocation; its ordinal: */
	uint64_t last_alloc_ordinal;
	struct hl_totals_line **segments; /* n_nodes used of them */
	size_t n_nodes, n_segments;
};

/* A node in a cache line of its own; as many of them as fill a large page. */
struct hl_totals_line {
	struct hl_node_totals node;
	uint64_t unused;
};
_Static_assert(sizeof(struct hl_totals_line) == 64, "a cache line");
#define HL_TOTALS_SEGMENT_BITS 15u

/* One below n_nodes. */
static inline struct hl_node_totals *hl_totals_node(const struct hl_totals *t, size_t node)
{
	return &t->segments[node >> HL_TOTALS_SEGMENT_BITS]
			   [node & ((1u << HL_TOTALS_SEGMENT_BITS) - 1)]
				   .node;
}

void hl_totals_init(struct hl_totals *t);
void hl_totals_fini(struct hl_totals *t);
/* 0 or -ENOMEM. An event whose node is HL_NODE_NONE counts for the process only. */
int hl_totals_apply(struct hl_totals *t, const struct hl_event *event);
/* The process's part alone: no node is touched, and `stacks` is not counted. */
void hl_totals_apply_process(struct hl_totals *t, const struct hl_event *event);
/* Room for this node; 0 or -ENOMEM. */
int hl_totals_reach(struct hl_totals *t, uint32_t node);
/* Live of one node at the process's peak, as of now. */
void hl_totals_at_peak(const struct hl_totals *t, size_t node, uint64_t *bytes, uint64_t *blocks);

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
