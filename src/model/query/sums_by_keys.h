/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums_by_keys.h - answers by stack, thread and tag at once, and by one more key.
 *
 * Of the many possible combinations few occur; only those that occur have a row.
 */
#ifndef HL_MODEL_QUERY_SUMS_BY_KEYS_H
#define HL_MODEL_QUERY_SUMS_BY_KEYS_H

#include "model/query/query.h"

struct hl_cross_sums_row {
	uint32_t node;       /* HL_NODE_NONE: blocks without a stack */
	struct hl_role role; /* the role that allocated; thread HL_NODE_NONE: threads are not
			       distinguished */
	uint32_t key;        /* of the query; none is their number; 0 for HL_KEY_STACK */
	struct hl_value value;
};

struct hl_cross_sums {
	struct hl_cross_sums_row *rows;
	size_t n;
	struct hl_value total;
	uint64_t to_ns;
	bool moved;
};

/*
 * Answers n queries, one or two, with one scan for both. For queries by stack, threads and tags are
 * not distinguished where a part of the file is lost, or where some blocks are aggregated and only
 * whole stacks are known. Queries by another key are then answered as hl_model_query() does, up to
 * the loss or not at all. The caller frees each answer. Returns 0, or -errno with hl_model_error().
 */
int hl_model_cross_sums(struct hl_model *m, const struct hl_query *queries,
	struct hl_cross_sums *answers, size_t n);
void hl_cross_sums_fini(struct hl_cross_sums *c);

/* hl_cross_sums_of: an answer by stack as rows without a role; the caller frees them.
 * hl_cross_sums_by_stack: rows as an answer by stack to the query. Both return 0, or -errno with
 * hl_model_error(). */
int hl_cross_sums_of(struct hl_cross_sums *c, struct hl_model *m, const struct hl_answer *a);
int hl_cross_sums_by_stack(const struct hl_cross_sums *c, struct hl_model *m,
	const struct hl_query *q, struct hl_answer *a);

#endif
