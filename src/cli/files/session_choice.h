/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_choice.h - which traces of a session a command is about: --process, --all, or the operand
 * alone.
 *
 * app.hlt.d means the session. app.hlt alone means the program that was started: the last program
 * that it ran, if it has called exec; for commands that copy or change a file that file.
 */
#ifndef HL_CLI_FILES_SESSION_CHOICE_H
#define HL_CLI_FILES_SESSION_CHOICE_H

#include "cli/files/trace_file.h"
#include "model/session/session.h"
#include "util/strbuf.h"

struct hl_session_choice {
	/* The traces: the operands, or one file for each process. */
	char **files;
	int n;
	bool is_session;                 /* all processes of `session` */
	struct hl_session_list *session; /* NULL: the operands are no session */
	bool is_read;                    /* its traces have been opened */
	bool is_lossy; /* a trace of what is chosen cannot be read, and was named */
	char *one[2];  /* private */
	char **all;    /* private */
};

/* The meaning of a trace without --process and --all. */
enum hl_session_default {
	HL_SESSION_FILE,    /* itself */
	HL_SESSION_PROGRAM, /* the last program of its process */
	HL_SESSION_ALL,     /* all processes of its session */
};

/* Returns 0, or prints a message and returns an exit status. The caller calls
 * hl_session_choice_fini() in every case. */
int hl_session_choose(struct hl_session_choice *c, const struct hl_trace_opts *opts, int argc,
	char **argv, enum hl_session_default alone);
void hl_session_choice_fini(struct hl_session_choice *c);
/* Of a session, chooses all files of each process, not one, for a command that adds up the parts of
 * a rotated trace. Returns 0, or prints a message and returns an exit status. */
int hl_session_choose_parts(struct hl_session_choice *c);
/* The exit status of a command whose result is `status`: a trace that cannot be read is an error.
 */
int hl_session_choice_status(const struct hl_session_choice *c, int status);
/* For a command that takes one trace: prints a sentence and returns an exit status if the choice is
 * a session of several processes. `what`: what the command cannot do, "be exported together".
 * `instead`: what to do, which ends with "choose one"; NULL: nothing else. */
int hl_session_require_one(
	const struct hl_session_choice *c, const char *what, const char *instead);
/* Appends the command that shows the program of this file, which can be copied into a shell. */
void hl_session_put_command(
	struct hl_strbuf *b, const struct hl_session_list *s, const struct hl_session_file *f);
/* Prints what else the process ran and a line about the other processes, if there are any. */
void hl_session_print_rest(struct hl_session_choice *c);

#endif
