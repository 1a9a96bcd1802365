/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gdb.h - builds the command line that runs a program under gdb with the recorder in it.
 *
 * Only the program gets the recorder: gdb's "exec-wrapper" sets the variables after gdb's own shell
 * has been started.
 */
#ifndef HL_CLI_RECORD_GDB_H
#define HL_CLI_RECORD_GDB_H

struct hl_gdb_start {
	const char *options;          /* options for gdb, split as a shell would; NULL: none */
	const char *preload, *socket; /* LD_PRELOAD and HEAPLAPSE_SOCKET of the program */
	const char *program;          /* its path */
	char **args;                  /* argv of the program, its name first; ends with NULL */
};

/* Returns the argv, which ends with NULL and is never freed: the caller calls exec or ends. Returns
 * NULL if there is no memory, or (errno EINVAL) if a quote in the options is not closed. */
char **hl_gdb_command(const struct hl_gdb_start *s);

#endif
