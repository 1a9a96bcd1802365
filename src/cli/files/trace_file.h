/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file.h - functions shared by all commands that read a trace.
 */
#ifndef HL_CLI_FILES_TRACE_FILE_H
#define HL_CLI_FILES_TRACE_FILE_H

#include "cli/cli.h"
#include "model/query/filter.h"
#include "model/model.h"

/* Options that they share; must be the first member of their state. */
struct hl_trace_opts {
	bool json, strict, verbose;
	bool all;            /* all processes of the session */
	const char *process; /* one of them, by name or pid; NULL: not chosen */
};
const char *hl_set_json(void *state, const char *value);
const char *hl_set_strict(void *state, const char *value);
const char *hl_set_verbose(void *state, const char *value);
const char *hl_set_all(void *state, const char *value);
const char *hl_set_process(void *state, const char *value);
/* The rows of commands that use hl_session_choose(). */
#define HL_SESSION_OPTS                                                    \
	HL_OPT_PROCESS,                                                    \
	{                                                                  \
		0, "all", NULL, "all processes of the session", hl_set_all \
	}
#define HL_OPT_PROCESS                                                          \
	{                                                                       \
		0, "process", "NAME|PID",                                       \
			"one process of the session, by its program's name or " \
			"its pid",                                              \
			hl_set_process                                          \
	}
#define HL_OPT_STRICT                                                                     \
	{                                                                                 \
		0, "strict", NULL, "exit with status 4 if data is missing", hl_set_strict \
	}
#define HL_OPT_VERBOSE                                                                      \
	{                                                                                   \
		'v', "verbose", NULL, "print how much of the file was read", hl_set_verbose \
	}

/* Opens a trace as hl_model_open() does. If the program has ended, waits up to 2 s while its
 * collector writes the rest. */
int hl_trace_file_open_model(const char *path, struct hl_model **m, struct hl_reader_refusal *why);
/* Opens the only operand, or without one the newest trace in the current directory. Of a session it
 * opens the trace that is named (session_choice.h). Returns 0, or prints a message and returns
 * an exit status. */
int hl_trace_file_open(int argc, char **argv, struct hl_model **m);
/* Opens this trace, for commands that have chosen it. */
int hl_trace_file_open_path(const char *path, struct hl_model **m);
/* Finds the newest trace in the current directory and prints its name. Returns 0, or prints a
 * message and returns an exit status. The caller frees *path. */
int hl_trace_file_find_newest(char **path);
/*
 * Reads the whole file if it has at most `limit` bytes, to find damage that other queries would not
 * touch. The model reports the damage afterwards.
 */
void hl_trace_file_verify(struct hl_model *m, uint64_t limit);
/* Prints to stderr which parts of the recording are missing, if any. */
void hl_trace_file_warn(struct hl_model *m);
/* Prints the output of -v, closes the model and returns the exit status. missing: data that was not
 * available in addition to what the trace itself lacks; NULL: none. */
int hl_trace_file_close(struct hl_model *m, const struct hl_trace_opts *opts, const char *missing);
/* Prints the model's error, closes the model and returns the exit status. */
int hl_trace_file_failed(struct hl_model *m);

/*
 * Parses a filter that requires all of the expressions; *f is NULL if there are none. Returns 0, or
 * prints a message that marks the position of the error and returns an exit status.
 */
int hl_filter_options(const char *const *exprs, size_t n, struct hl_filter **f);
/* Prints which names of a bound filter the trace does not have, with similar ones. f may be NULL.
 */
void hl_filter_print_unmatched(struct hl_filter *f, struct hl_model *m);
int hl_filter_print_error(const char *option, const char *expr, size_t at, const char *text);

#endif
