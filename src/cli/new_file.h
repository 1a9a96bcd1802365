/*
 * new_file.h - a trace that a command writes: it has its name only when it is whole.
 *
 * Made as `record` makes its own: for its owner alone, never through a link, never over a file
 * unless asked to, and not where others could exchange it. Whatever fails, what had the name before
 * still has it.
 */
#ifndef HL_CLI_NEW_FILE_H
#define HL_CLI_NEW_FILE_H

#include <stdbool.h>

struct hl_new_file {
	const char *path; /* the caller's */
	bool overwrite;
	bool anywhere; /* also in folders that everybody may change */

	int dir, fd;
	char temp[64]; /* the name that it has meanwhile; "": none */
};

/* What would be right instead of this name, as a row of options says it; NULL: it will do. */
const char *hl_new_file_wrong_name(const char *path);
/* With the three above set. 0, or an exit status with a message. */
int hl_new_file_open(struct hl_new_file *f);
/* Gives it its name, and closes it. 0, or an exit status with a message. */
int hl_new_file_keep(struct hl_new_file *f);
/* Nothing of it stays. Says why if err is one of writing (-errno); returns the exit status. */
int hl_new_file_drop(struct hl_new_file *f, int err);

#endif
