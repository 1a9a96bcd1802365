/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_groups.h - the blocks that a query counts, by stack, beside all blocks of the run with the
 * same stack (scan/stack_groups.h).
 */
#ifndef HL_MODEL_BLOCKS_BLOCK_GROUPS_H
#define HL_MODEL_BLOCKS_BLOCK_GROUPS_H

#include "model/query/query.h"
#include "model/scan/stack_groups.h"

/* Amounts are sorted from the largest, times from the earliest. Equal rows are in the order of
 * their first matching block. */
enum hl_group_order {
	HL_GROUP_ORDER_BYTES,
	HL_GROUP_ORDER_BLOCKS,
	HL_GROUP_ORDER_LEAKED,
	HL_GROUP_ORDER_FIRST,
	HL_GROUP_ORDER_LAST,
	HL_GROUP_ORDER_INTERVAL,
	HL_GROUP_ORDER_RUN_BLOCKS,
	HL_GROUP_ORDER_RUN_LEAKED,
	HL_GROUP_ORDER_RUN_FIRST,
	HL_GROUP_ORDER_RUN_LAST,
	HL_GROUP_ORDER_RUN_INTERVAL,
	HL_GROUP_ORDER_RUN_PEAK,
};

struct hl_block_group {
	uint32_t node; /* HL_NODE_NONE: without a stack */
	struct hl_value value;
	uint64_t leaked_blocks;     /* live at the end of the run */
	uint64_t first_ns, last_ns; /* allocations */
	struct hl_stack_group run;
};

struct hl_block_groups {
	struct hl_answer answer; /* without values */
	struct hl_block_group *rows;
	size_t n;
};

/* Can the trace answer the next function? Returns 0, or -errno with hl_model_error(). */
int hl_block_groups_check(struct hl_model *m, const struct hl_query *q);
/* Reads the trace to its end, and once more if the groups are not known yet. Returns 0 or -errno
 * with hl_model_error(). The caller frees *g with hl_block_groups_fini. */
int hl_block_groups(struct hl_block_groups *g, struct hl_model *m, const struct hl_query *q,
	enum hl_group_order order, bool reverse);
void hl_block_groups_fini(struct hl_block_groups *g);

#endif
