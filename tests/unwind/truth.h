/* SPDX-License-Identifier: Apache-2.0 */
/* truth.h - a test program exports `unwind_truth`, its own call chain, for check.c. */
#ifndef HL_TESTS_UNWIND_TRUTH_H
#define HL_TESTS_UNWIND_TRUTH_H

struct unwind_function {
	const void *lo, *hi; /* hi NULL: taken from its unwind table */
};

struct unwind_truth {
	struct unwind_function functions[64]; /* outermost first */
	volatile int depth;                   /* 0: nothing to compare now */
	volatile int exact_depth;             /* the stack has exactly these frames */
};

#endif
