/*
 * target.h - can this program be recorded? Asked before it runs.
 */
#ifndef HL_CLI_TARGET_H
#define HL_CLI_TARGET_H

#include <limits.h>
#include <stddef.h>

struct target {
	char path[PATH_MAX]; /* what will be executed */
	const char *problem; /* NULL: it can be recorded */
	const char *remedy;
};

/*
 * Finds `program` as execvp would. 0; -ENOENT, -EACCES or another -errno when it cannot be run at
 * all. A script is judged by its interpreter.
 */
int hl_target_find(const char *program, struct target *t);

#endif
