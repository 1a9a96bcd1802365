/*
 * rest.h - of a trace that has some blocks in sums alone (modes count and cull): these sums, by
 * stack, beside the blocks that are in events.
 *
 * They are what the model answers for all blocks less what the events have, so that both together
 * are what `report` shows. A block is in events as a whole or not at all.
 */
#ifndef HL_MODEL_REST_H
#define HL_MODEL_REST_H

#include "model/query.h"

/* Of one stack; HL_NODE_NONE: of none. */
struct hl_rest_row {
	uint32_t node;
	struct hl_value allocated; /* of these blocks: */
	struct hl_value left;      /* not freed up to the end */
	struct hl_value
		at_peak; /* live at the peak of the whole heap; of what is left: at the end */
};

struct hl_rest {
	struct hl_rest_row *rows; /* after hl_rest_end */
	size_t n;
	struct hl_value allocated, left; /* of all rows */

	/* its own */
	struct hl_rest_row *all, *kept; /* by node, the last without a stack */
	uint32_t n_nodes;
	uint64_t peak_ns;
};

/*
 * Can sums answer what is asked? All that was allocated, or live at the end, by stack and with no
 * filter but on stacks; blocks that are live at the end have no other peak. 0 or -ENODATA with
 * hl_model_error().
 */
int hl_rest_check(struct hl_model *m, const struct hl_query *q);
/* Asks for the sums of all blocks. 0 or -errno with hl_model_error(); in any case hl_rest_fini. */
int hl_rest_begin(struct hl_rest *r, struct hl_model *m, const struct hl_query *q);
/* Forgets the events and the rows, so that a trace can be read again for the same sums. */
void hl_rest_restart(struct hl_rest *r);
/* An event of a block that counts. */
void hl_rest_take(struct hl_rest *r, const struct hl_event *e);
/* Makes the rows of what is left. */
int hl_rest_end(struct hl_rest *r);
void hl_rest_fini(struct hl_rest *r);
/* A frame that says it of a stack. 0 or -ENOMEM. */
int hl_rest_frame(struct hl_model *m, uint32_t *frame);

#endif
