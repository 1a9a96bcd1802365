/*
 * truth.h - how a test program tells the checker its own call chain: it exports `unwind_truth`.
 */
#ifndef HL_TESTS_UNWIND_TRUTH_H
#define HL_TESTS_UNWIND_TRUTH_H

struct unwind_function {
	const void *lo, *hi; /* hi NULL: where its unwind table says */
};

struct unwind_truth {
	struct unwind_function functions[64]; /* outermost first */
	volatile int depth;                   /* 0: nothing to compare now */
	volatile int exact_depth;             /* the stack has these frames only */
};

#endif
