/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_image.h - the program that a process runs, according to /proc.
 */
#ifndef HL_COLLECT_TARGET_PROC_IMAGE_H
#define HL_COLLECT_TARGET_PROC_IMAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define HL_COMMAND_MAX 65536u

struct hl_proc_image {
	char program[PATH_MAX];
	uint64_t parent_pid; /* 0: not known, or in another namespace */
	uint32_t command_len;
	char command[HL_COMMAND_MAX]; /* argv, each terminated by NUL */
	/* In its environment: PYTHONMALLOC is malloc or malloc_debug, USE_ZEND_ALLOC is 0. */
	bool python_malloc, php_malloc;
};

/* Reads it while the process waits for the collector: a short-running program may have ended before
 * its first event is read. Fields that /proc does not provide stay empty. */
void hl_proc_image_read(struct hl_proc_image *image, uint64_t pid);

#endif
