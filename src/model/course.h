/*
 * course.h - what each stack's blocks did over the run: how long they lived, and the most of them
 * at one time.
 */
#ifndef HL_MODEL_COURSE_H
#define HL_MODEL_COURSE_H

#include "model/lives.h"

struct hl_course {
	struct hl_value allocated, most,
		left;     /* most: when their bytes were highest, the first time */
	uint64_t life_ns; /* of all blocks, added; of those that were not freed up to the end */
};

/* Of the blocks that the question counts; courses has n_nodes + 1 places, the last for blocks
 * without a stack. 0 or -errno with hl_model_error(). */
int hl_model_courses(struct hl_model *m, const struct hl_query *q, struct hl_course *courses,
	uint64_t *end_ns, bool *moved);

#endif
