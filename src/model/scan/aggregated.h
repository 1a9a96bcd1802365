/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregated.h - for a trace with aggregated blocks (modes count and cull): the sums of these
 * blocks by stack, beside the blocks that are in events.
 *
 * They are the model's answer for all blocks minus the blocks in events, so that both together are
 * what `report` shows. A block is in events either with all its events or not at all.
 */
#ifndef HL_MODEL_SCAN_AGGREGATED_H
#define HL_MODEL_SCAN_AGGREGATED_H

#include "model/query/query.h"

/* The sums of one stack; HL_NODE_NONE: of blocks without a stack. */
struct hl_aggregated_row {
	uint32_t node;
	struct hl_value allocated;   /* by the aggregated blocks */
	struct hl_value live_at_end; /* of these, not freed by the end */
	struct hl_value at_peak; /* of these, live at the peak of the whole heap; at the end if the
				    query is about live blocks */
};

struct hl_aggregated {
	struct hl_aggregated_row *rows; /* set by hl_aggregated_end */
	size_t n;
	struct hl_value allocated, left; /* of all rows */

	/* private */
	struct hl_aggregated_row *all, *in_events; /* by node; the last has no stack */
	uint32_t n_nodes;
	uint64_t peak_ns;
};

/*
 * Can sums answer the query? They can for all that was allocated, and for what is live at the end,
 * by stack and with a filter on stacks at most. For blocks that are live at the end, the peak is
 * the end. Returns 0, or -ENODATA with hl_model_error().
 */
int hl_aggregated_check(struct hl_model *m, const struct hl_query *q);
/* Queries the sums of all blocks. Returns 0, or -errno with hl_model_error(). The caller calls
 * hl_aggregated_fini in every case. */
int hl_aggregated_begin(struct hl_aggregated *r, struct hl_model *m, const struct hl_query *q);
/* Discards the events and the rows, so that the trace can be read again for the same sums. */
void hl_aggregated_restart(struct hl_aggregated *r);
/* Adds an event of a block that the query counts. */
void hl_aggregated_add_event(struct hl_aggregated *r, const struct hl_event *e);
/* Makes the rows from the difference. Returns 0 or -ENOMEM. */
int hl_aggregated_end(struct hl_aggregated *r);
void hl_aggregated_fini(struct hl_aggregated *r);
/* The frame that marks such a stack in output. Returns 0 or -ENOMEM. */
int hl_aggregated_frame(struct hl_model *m, uint32_t *frame);

#endif
