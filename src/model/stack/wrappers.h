/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers.h - finds allocation wrappers in the stacks of a trace.
 *
 * A function of the program is a wrapper if
 * - in at least 95 % of the stacks that contain it, only wrappers, plumbing that does little more
 *   than allocate, and functions with fewer than 4 callers are between it and the allocator, which
 *   have one caller or "new" or "alloc" in their name: a function that has several callers and is
 *   not called like an allocator grows or looks up something;
 * - it has at least 8 different callers;
 * - its callers ask for different sizes: a function that always allocates the same size makes
 *   objects of one kind, and is what a reader looks for;
 * - a call of it allocates one block: its stacks seldom share the frames outside of it.
 * A function with the name of an allocator needs only the first of these, with any functions of few
 * callers in between, and two callers, or different sizes and one block in each call; one whose
 * name ends in "alloc" needs two callers instead of 8. Functions that wrappers call for memory are
 * wrappers, too, if the first holds, and they have one caller or such a name. This is repeated
 * until nothing changes, because wrappers call wrappers.
 *
 * Stacks are the distinct recorded stacks that allocated anything in the whole run. Functions are
 * those of a module by name, inlined ones too, and without a name by the bounds that unwind tables
 * give. All callers in one module whose bounds are not known either count as one. main, functions
 * without bounds and plumbing are never wrappers.
 */
#ifndef HL_MODEL_STACK_WRAPPERS_H
#define HL_MODEL_STACK_WRAPPERS_H

#include "model/stack/stack_rules.h"

/* Adds the wrappers of the trace to the model. Returns 0 or -errno. */
int hl_wrappers_detect(struct hl_model *m);

#endif
