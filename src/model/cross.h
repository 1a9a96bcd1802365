/*
 * cross.h - answers by stack, thread and tag at once, and by one key more.
 *
 * There may be very many of them, of which few have a number: only those are rows.
 */
#ifndef HL_MODEL_CROSS_H
#define HL_MODEL_CROSS_H

#include "model/query.h"

struct hl_cross_row {
	uint32_t node;      /* HL_NODE_NONE: blocks without a stack */
	struct hl_role who; /* allocated; thread HL_NODE_NONE: not told apart */
	uint32_t key;       /* of the question, up to their number for none; by stack: 0 */
	struct hl_value value;
};

struct hl_cross {
	struct hl_cross_row *rows;
	size_t n;
	struct hl_value total;
	uint64_t to_ns;
	bool moved;
};

/*
 * The answers to n questions, one or two, with the trace read once for both. Of questions by stack,
 * where a part of the file is lost, or not all is in events, and only whole stacks are known,
 * threads and tags are not told apart; questions by another key are then answered as
 * hl_model_query() does, up to the loss or not at all. The caller frees each. 0 or -errno with
 * hl_model_error().
 */
int hl_model_cross(
	struct hl_model *m, const struct hl_query *questions, struct hl_cross *answers, size_t n);
void hl_cross_fini(struct hl_cross *c);

/* An answer by stack as rows of nobody, which the caller frees; and rows as such an answer to the
 * question. 0 or -errno with hl_model_error(). */
int hl_cross_of(struct hl_cross *c, struct hl_model *m, const struct hl_answer *a);
int hl_cross_by_stack(const struct hl_cross *c, struct hl_model *m, const struct hl_query *q,
	struct hl_answer *a);

#endif
