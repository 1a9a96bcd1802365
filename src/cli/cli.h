/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - the definition of a command, and the functions that all commands share.
 *
 * A command is mostly data: its row (struct hl_cmd) has its name, options and functions. Parsing,
 * help, manual pages, completion and "did you mean" are all made from the rows. Only this directory
 * prints to the user and ends the process. Results go to stdout, all messages to stderr.
 */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "request/option_row.h"
#include "util/names/suggest.h"
#include "util/terminal/terminal.h"

/* Exit statuses of all commands but `record`, which returns the status of the recorded program. */
enum {
	HL_EXIT_OK = 0,
	HL_EXIT_VIOLATION = 1, /* `doctor`: recording would fail */
	HL_EXIT_USAGE = 2,
	HL_EXIT_IO = 3,         /* input cannot be read, or output cannot be written */
	HL_EXIT_INCOMPLETE = 4, /* with --strict: there is a result, but data was missing; without:
				 * the time of --max-time was too short for a part of it */
};

struct hl_example {
	const char *args; /* the text after "heaplapse NAME " */
	const char *help; /* a short description */
};

/* The kind of operand, for completion. */
enum hl_operand {
	HL_OPERAND_NONE,
	HL_OPERAND_TRACE,   /* files named *.hlt */
	HL_OPERAND_PROGRAM, /* a program and its arguments */
	HL_OPERAND_WORD,    /* one of the words that hl_cmd.word_at returns */
};

struct hl_cmd {
	const char *name;
	const char *summary;     /* one line for `heaplapse help` */
	const char *usage;       /* the text after the name: "[options] FILE" */
	const char *about;       /* text after the options; lines end with \n; may be NULL */
	const char *exit_status; /* NULL: the default text, for the statuses that it can return */
	const struct hl_example *examples; /* ends with {0}; may be NULL */
	/* Options in the order of the help: those of the tables, whose setters receive a part of
	 * the state, then the command's own. Either may be NULL. */
	const struct hl_opt_table *tables;
	const struct hl_opt *opts;
	/* Options that several commands share: hl_view_opts or NULL. A command with hl_view_opts
	 * prints through the pager. */
	const struct hl_opt *shared;
	enum hl_operand operand;
	const char *(*word_at)(size_t i); /* returns NULL after the last */
	bool options_in_environment;      /* --foo-bar can also be given as HEAPLAPSE_FOO_BAR */
	size_t state_size;                /* of the zeroed state that setters and run receive */
	bool hidden;                      /* for internal use: in no list */
	bool stops_at_operand; /* the first operand ends our options (record PROG ARGS) */
	int usage_status;      /* exit status of a wrong command line if HL_EXIT_USAGE could be the
				  program's; 0: HL_EXIT_USAGE */
	void (*init)(void *state); /* called before the options are parsed; may be NULL */
	/* Called after each stored option; may be NULL. */
	void (*option_stored)(void *state, const struct hl_opt *o);
	/* Receives the operands only, with argv[argc] == NULL. Returns the exit status. */
	int (*run)(void *state, int argc, char **argv);
	void (*fini)(void *state); /* called at the end, even if run was not; may be NULL */
};

/* All commands in the order of the help; ends with NULL. */
extern const struct hl_cmd *const hl_commands[];
const struct hl_cmd *hl_command_find(const char *name);
/* Explains a word that other profilers, or later versions, have as a command. Returns 0 if it is
 * none, else the exit status. */
int hl_command_reject_foreign(const char *word);

/* The running command, for messages; NULL before it is known. */
extern const struct hl_cmd *hl_command_current;

/* Prints "heaplapse: ..." and a newline to stderr. Control characters are escaped. For errors and
 * warnings. */
void hl_cli_error(const char *fmt, ...) hl_printf(1, 2);
/* The same for information: a success, or a remark about the output. The prefix is not bold. */
void hl_cli_info(const char *fmt, ...) hl_printf(1, 2);
/* The same, with a command below it on a line of its own, which can be copied. */
void hl_cli_info_command(const char *command, const char *fmt, ...) hl_printf(2, 3);
/* Prints "heaplapse COMMAND: ..." and a hint to the help. Returns HL_EXIT_USAGE, or the command's
 * usage_status. */
int hl_cli_usage(const char *fmt, ...) hl_printf(1, 2);
/* The same with lines before the hint: "  try: ...\n". They are printed as they are. */
int hl_cli_usage_try(const char *try, const char *fmt, ...) hl_printf(2, 3);
/* Sets the subject of the following messages if a command has several inputs: "a.hlt: ...". The
 * string belongs to the caller. NULL: only one input. */
void hl_cli_set_subject(const char *subject);
/* Flushes stdout. Returns `status`, or prints a message and returns HL_EXIT_IO if writing
 * failed. */
int hl_cli_finish(int status);

/*
 * Returns option i of a command: those of its tables, its own, the shared ones, then --help; NULL
 * after the last. Options without help text are included.
 */
const struct hl_opt *hl_cmd_opt(const struct hl_cmd *cmd, size_t i);
/* The same without options that have no help text. */
const struct hl_opt *hl_cmd_listed_opt(const struct hl_cmd *cmd, size_t i);

/* --color and --no-pager, for all commands with long output. */
extern const struct hl_opt hl_view_opts[];
/* Whether a stream of the process has colours, by --color; and a style, "" without colours. */
bool hl_cli_colors(int fd);
const char *hl_cli_style(int fd, enum hl_style style);

enum hl_help {
	HL_HELP_NONE,
	HL_HELP_SHORT, /* -h: fits on one screen */
	HL_HELP_FULL,  /* --help */
};

/*
 * Parses the options in argv (from argv[1] on). *operands receives the operands, which point into
 * argv; *help receives the requested help. Returns 0, or prints a message and returns
 * HL_EXIT_USAGE.
 */
int hl_options_parse(const struct hl_cmd *cmd, void *state, int argc, char **argv, int *n_operands,
	char ***operands, enum hl_help *help);

/* Parses a number of seconds, or a time with a unit: 500ms, 2min. Returns false if the text is not
 * a duration or is out of bounds. */
bool hl_cli_duration(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *ns);

#endif
