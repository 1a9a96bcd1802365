/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_tree.h - the blocks of a query by group, and by stack within each group: for trees whose
 * outermost frame is the group.
 *
 * A group is a row of `report --group`, with its values; rows with the same name are one group.
 * Each group has a frame of its own, for example "thread 0" or "size: 64 B - 127 B", which is not a
 * frame of code.
 */
#ifndef HL_MODEL_STACK_GROUP_TREE_H
#define HL_MODEL_STACK_GROUP_TREE_H

#include "model/query/sums_by_keys.h"
#include "model/stack/flat_table.h"

/* Maps a key, or a stack for groups of code, to the frame of its group. */
struct hl_grouping {
	enum hl_group group;
	uint32_t *frames; /* n_keys + 1 frames; HL_NODE_NONE for keys without blocks */
	uint32_t n_keys;
};

/* Makes one grouping for n results of hl_model_cross_sums() by the group's key. Returns 0 or -errno
 * with hl_model_error(). */
int hl_grouping_make(struct hl_grouping *d, struct hl_model *m, enum hl_group g,
	const struct hl_cross_sums *answers, size_t n);
void hl_grouping_fini(struct hl_grouping *d);
/* The frame of the group of a row: by its stack for groups of code, else by its key. */
uint32_t hl_grouping_frame(const struct hl_grouping *d, uint32_t node, uint32_t key);

/* An answer by group and stack, and the same answer by stack alone. */
struct hl_grouped_stacks {
	struct hl_answer by_stack;
	struct hl_cross_sums cross;
	struct hl_grouping grouping;
};
/* Answers a query by group and stack. The caller calls hl_grouped_stacks_fini, even after an error.
 * Returns 0 or -errno with hl_model_error(). */
int hl_model_group_stacks(
	struct hl_model *m, const struct hl_query *q, enum hl_group g, struct hl_grouped_stacks *d);
void hl_grouped_stacks_fini(struct hl_grouped_stacks *d);

#endif
