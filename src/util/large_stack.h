/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large_stack.h - runs a function on a stack of a known size.
 *
 * The tool inherits RLIMIT_STACK from the program that it records, which may be a few pages. The
 * limit itself is not changed: the program inherits it from `record` in turn.
 */
#ifndef HL_UTIL_LARGE_STACK_H
#define HL_UTIL_LARGE_STACK_H

#include <stddef.h>

/* Returns run(argc, argv). It runs on the caller's stack if the limit of that stack is at least
 * `bytes`, or if there is no memory for another stack. Call it once. */
int hl_large_stack_run(size_t bytes, int (*run)(int argc, char **argv), int argc, char **argv);

#endif
