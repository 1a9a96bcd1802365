/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_stats.h - allocations and frees by thread, and frees by other threads.
 */
#ifndef HL_MODEL_VIEWS_THREAD_STATS_H
#define HL_MODEL_VIEWS_THREAD_STATS_H

#include "model/query/query.h"

struct hl_thread_row {
	uint64_t tid;     /* 0 if not known */
	const char *name; /* owned by the model; NULL if it has none */
	struct hl_value allocated;
	struct hl_value freed;           /* freed by this thread, allocated by any thread */
	struct hl_value freed_own;       /* the part of `freed` that this thread allocated */
	struct hl_value freed_by_others; /* allocated by this thread, freed by another */
	struct hl_value not_freed;       /* allocated by this thread, not freed */
};

/* Blocks that one thread allocated and another freed. */
struct hl_thread_pair {
	uint32_t from, to;
	struct hl_value value;
};

struct hl_threads {
	struct hl_thread_row *rows; /* n rows, indexed by thread */
	uint32_t n;
	struct hl_thread_pair *pairs; /* by blocks, descending */
	size_t n_pairs;
};

/* Computes the rows for the whole run. Returns 0 or -errno with hl_model_error(). The caller frees
 * *t with hl_threads_fini. */
int hl_threads_build(struct hl_threads *t, struct hl_model *m, struct hl_filter *filter);
/* Announces this query, see prefetch.h. */
void hl_threads_prefetch(struct hl_model *m, struct hl_filter *filter);
void hl_threads_fini(struct hl_threads *t);

#endif
