/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomic_file.h - a trace written by a command. It gets its name only when it is complete.
 *
 * It is created as `record` creates its traces: only its owner can read it, no symbolic link is
 * followed, no file is overwritten unless requested, and it is not in a directory where other users
 * could exchange it. On any failure the previous file keeps its name.
 */
#ifndef HL_CLI_FILES_ATOMIC_FILE_H
#define HL_CLI_FILES_ATOMIC_FILE_H

#include <stdbool.h>

struct hl_atomic_file {
	const char *path; /* belongs to the caller */
	bool overwrite;
	bool allow_unsafe_dir; /* also in directories that all users may change */

	int dir, fd;
	char temp[64]; /* the temporary name; "": none */
};

/* Returns a description of a valid name, in the form of hl_opt.set; NULL if this name is valid. */
const char *hl_atomic_file_check_name(const char *path);
/* Opens the file; the first three members must be set. Returns 0, or prints a message and returns
 * an exit status. */
int hl_atomic_file_open(struct hl_atomic_file *f);
/* Gives the file its name and closes it. Returns 0, or prints a message and returns an exit
 * status. */
int hl_atomic_file_commit(struct hl_atomic_file *f);
/* Removes the file. If err is a write error (-errno), prints a message. Returns the exit status. */
int hl_atomic_file_discard(struct hl_atomic_file *f, int err);

#endif
