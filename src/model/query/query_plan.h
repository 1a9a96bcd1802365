/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_plan.h - what a trace can answer, and how: the only place that decides it.
 */
#ifndef HL_MODEL_QUERY_QUERY_PLAN_H
#define HL_MODEL_QUERY_QUERY_PLAN_H

#include "model/query/query.h"
#include "util/strbuf.h"

/* How the answer of a query is computed. */
enum hl_query_method {
	HL_METHOD_STACK_SUMS, /* from a keyframe, summaries, and the events of at most one chunk */
	HL_METHOD_KEY_SUMS,   /* from the summaries of all chunks, by thread, tag or size */
	HL_METHOD_EVENTS,     /* from every event of the range */
};

struct hl_query_plan {
	enum hl_query_method method;
	const char *reason; /* why sums do not suffice; NULL: they do */
};

/* Plans a query. Returns 0, or -ENODATA with hl_model_error() if the trace cannot answer it. The
 * plan is complete in either case. */
int hl_query_plan(struct hl_model *m, const struct hl_query *q, struct hl_query_plan *p);
/* Returns whether keyframes and summaries suffice. */
bool hl_query_sums_suffice(const struct hl_model *m, const struct hl_query *q);
/* The same for a query that reads single blocks: call it after hl_query_bind, which allows a moment
 * that only sums have. Returns 0, or -errno with hl_model_error(). */
int hl_query_plan_blocks(struct hl_model *m, const struct hl_query *q);

/* Returns whether it is about the blocks live at a peak before the base. Only its sums by stack are
 * in the file; sums of samples have no accuracy. */
bool hl_query_is_peak_before_base(const struct hl_model *m, const struct hl_query *q);

/* Properties of a trace that an answer may need. */
enum {
	HL_NEEDS_ORDER = 1,       /* the order of events: a profile has only sums */
	HL_NEEDS_EVENTS = 2,      /* every event: modes count and cull aggregate blocks */
	HL_NEEDS_ADJACENCY = 4,   /* which event follows which: samples have gaps */
	HL_NEEDS_FREE_STACKS = 8, /* record --free-stacks */
	HL_NEEDS_MMAPS = 16,      /* record --mmap */
};
/* Returns 0, or -ENODATA and a sentence in hl_model_error() that `what` cannot be answered. */
int hl_model_require(struct hl_model *m, unsigned needs, const char *what);
/* The same for the single blocks that are live at a moment: at the end they are known if no
 * aggregated block is live there. */
int hl_model_require_blocks(struct hl_model *m, const struct hl_time_spec *when, const char *what);

/* The same for data that an imported trace may lack (HL_UNKNOWN_*). */
int hl_model_require_known(struct hl_model *m, uint32_t needs, const char *what);

/* Appends a description of what the query reads and why, or why it is refused. Binds the query. */
void hl_query_explain(struct hl_model *m, const struct hl_query *q, struct hl_strbuf *b);

#endif
