/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_groups.h - all blocks of the heap that have the same stack, over the whole run: a group.
 *
 * Groups are about the trace, not about a query: a filter selects blocks by what their group is
 * (group-leaked:100%), and a list of groups shows both the matching blocks and all of a group.
 */
#ifndef HL_MODEL_SCAN_STACK_GROUPS_H
#define HL_MODEL_SCAN_STACK_GROUPS_H

#include "model/model.h"

struct hl_stack_group {
	uint64_t blocks, bytes;               /* that were allocated */
	uint64_t leaked_blocks, leaked_bytes; /* of these, those that are live at the end */
	/* With HL_GROUPS_TIMES. Of a trace that begins late: of the blocks that are live at its
	 * base, and of later ones. */
	uint64_t first_ns, last_ns;   /* the first and the last allocation */
	uint64_t peak_bytes, peak_ns; /* the most live bytes, and when they were first reached */
};

enum hl_groups_part {
	HL_GROUPS_COUNTS = 1, /* blocks and bytes, from sums */
	HL_GROUPS_TIMES = 2,  /* the rest, from a pass over all events */
};

/* Finds these parts of all groups; what is known already is not computed again. Returns 0, or
 * -errno with hl_model_error(); -ENODATA: the trace does not have the data. */
int hl_model_load_groups(struct hl_model *m, unsigned parts);
/* Returns the parts that are loaded. */
unsigned hl_model_groups_loaded(const struct hl_model *m);
/* May the trace have these parts, as far as is known without reading it? Returns as load. */
int hl_model_check_groups(struct hl_model *m, unsigned parts);
/* The group of a stack, after hl_model_load_groups(); a node that is not below hl_model_n_nodes()
 * means blocks without a stack. */
const struct hl_stack_group *hl_model_group_of(const struct hl_model *m, uint32_t node);

#endif
