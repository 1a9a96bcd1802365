/*
 * gdb.h - the command line that runs a program under gdb with the recorder in it.
 *
 * The recorder gets into the program alone: gdb's "exec-wrapper" sets the variables after gdb's own
 * shell has been started.
 */
#ifndef HL_CLI_GDB_H
#define HL_CLI_GDB_H

struct hl_gdb_start {
	const char *options;          /* for gdb, split as a shell would; NULL: none */
	const char *preload, *socket; /* LD_PRELOAD and HEAPLAPSE_SOCKET of the program */
	const char *program;          /* its path */
	char **args;                  /* argv of the program, its name first, ended by NULL */
};

/* The argv, ended by NULL; whoever calls execs or ends. NULL: no memory, or (errno EINVAL) a quote
 * in the options that is not closed. */
char **hl_gdb_command(const struct hl_gdb_start *s);

#endif
