/*
 * course.h - what each stack's blocks did over the run: how long they lived, and the most of them
 * at one time.
 */
#ifndef HL_MODEL_COURSE_H
#define HL_MODEL_COURSE_H

#include "model/lives.h"

struct hl_course {
	uint32_t node; /* HL_NODE_NONE: blocks without a stack */
	uint32_t key;  /* as in struct hl_cross_row */
	struct hl_value allocated, left;
	struct hl_value most;    /* when their bytes were highest, the first time */
	struct hl_value at_peak; /* when those of all that are counted were */
	bool rest;               /* of blocks in sums alone: their lives and most are not known */
	uint64_t life_ns; /* of all blocks, added; of those that were not freed up to the end */
};

struct hl_courses {
	struct hl_course *rows; /* by stack and key, in the order of their first allocations */
	size_t n;
	struct hl_value allocated, left, at_peak;
	/* Where some blocks are in sums alone the peak is that of the whole heap. */
	uint64_t peak_ns, end_ns;
	bool moved; /* a part of the file stopped it before the end */
};

/* Rows of blocks in sums alone come last; `most` of them is the most that is known of, and they
 * have a key only if that is the stack. Of the whole lives of the blocks that the question counts,
 * by stack and by its key, which is one that each single event tells: stack, thread, tag, size or
 * interval. rest: as in struct hl_lives. 0 or -errno with hl_model_error(). */
int hl_model_courses(
	struct hl_courses *c, struct hl_model *m, const struct hl_query *q, struct hl_rest *rest);
void hl_courses_fini(struct hl_courses *c);

#endif
