/*
 * lives.h - the whole lives of the blocks that a question counts, in the order in which they
 * happened: for whoever writes them down elsewhere.
 *
 * What is handed over cannot be taken back, so nothing begins again here as it does in a pass: at
 * the first part of the file that cannot be read it ends, and says so.
 */
#ifndef HL_MODEL_LIVES_H
#define HL_MODEL_LIVES_H

#include "model/rest.h"

struct hl_lives {
	const struct hl_query *query;
	unsigned want; /* HL_WANT_* that `event` looks at */
	/* Any of these may be NULL. A block comes when it dies, or after all others, by ordinal, if
	 * it does not; its phases are not set. A pool's blocks come from extras, as events of the
	 * same shape. Other extras come whatever the question, but not with a pool's. */
	int (*event)(void *arg, const struct hl_event *e);
	int (*block)(void *arg, const struct hl_block *b);
	int (*extra)(void *arg, const struct hl_extra *x);
	void *arg;
	/* Not NULL: blocks that are in sums alone are no reason to refuse. It has begun, and has
	 * the rows of this reading afterwards. */
	struct hl_rest *rest;
	/* For these functions: which allocation the event directly before was, whether it was
	 * handed over or not; UINT64_MAX: it was none. */
	uint64_t previous;
	uint64_t number; /* of the event, from 0, in the whole trace */

	/* What came of it. */
	struct hl_value allocated; /* of the blocks that were handed over */
	uint64_t end_ns;           /* up to when it is known what became of them */
	bool moved;                /* a part of the file stopped it before the end */
};

/* 0 or -errno, with hl_model_error() if it is not of the functions above. */
int hl_model_lives(struct hl_model *m, struct hl_lives *l);

#endif
