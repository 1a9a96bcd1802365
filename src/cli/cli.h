/*
 * cli.h - what a command is, and the few things all commands share.
 *
 * A command is data first: its row says its name, its options and what it does; parsing, help, the
 * manual pages, completion and "did you mean" are made from the rows. Only this folder prints to
 * the user and ends the process. Results go to stdout, everything we say about them to stderr.
 */
#ifndef HL_CLI_CLI_H
#define HL_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Exit statuses of everything but `record`, which gives the program's own. */
enum {
	HL_EXIT_OK = 0,
	HL_EXIT_VIOLATION = 1, /* `check`; `doctor`: it would not be recorded */
	HL_EXIT_USAGE = 2,
	HL_EXIT_IO = 3,         /* input that cannot be read, or output that cannot be written */
	HL_EXIT_INCOMPLETE = 4, /* with --strict: an answer, but something was missing */
};

/*
 * One option. `set` stores the value in the command's state and returns NULL, or says what would
 * have been right ("a size such as 64K"). A row without help is not listed; rows end with {0}.
 */
struct hl_opt {
	char short_name;       /* 0: none */
	const char *long_name; /* without dashes; NULL: none */
	/* "FILE"; "[WHEN]": only as --x=WHEN, or left out; NULL: none. A value that is one of a few
	 * words has their list, "on|off" or, behind what is shown of it, "BY:bytes|blocks" or
	 * "[HOW]:names|full": help, completion and the message about another word come from
	 * that. */
	const char *arg;
	const char *help;
	const char *(*set)(void *state, const char *value); /* value NULL: none was given */
};

/* What a setter returns for a word that is not in the list. */
#define HL_OPT_NOT_LISTED "one of its values"
/* Which word of "on|off" it is; -1: none. */
int hl_word_find(const char *list, const char *word);
int hl_word_find_n(const char *list, const char *word, size_t len);
/* The list; NULL: the value is not one of a few words. */
const char *hl_opt_values(const struct hl_opt *o);
/* How much of arg is shown. */
int hl_opt_arg_len(const struct hl_opt *o);
/* Stores a value: NULL, or what would have been right, valid until the next call. */
const char *hl_opt_take(const struct hl_opt *o, void *state, const char *value);

struct hl_example {
	const char *args; /* what follows "heaplapse NAME " */
	const char *what; /* what it does, in a few words */
};

/* What a command works on: completion offers that. */
enum hl_operand {
	HL_OPERAND_NONE,
	HL_OPERAND_TRACE,   /* files named *.hlt */
	HL_OPERAND_PROGRAM, /* a program with its own words after it */
	HL_OPERAND_WORD,    /* one of the words that hl_cmd.word_at gives */
};

struct hl_cmd {
	const char *name;
	const char *summary;     /* one line for `heaplapse help` */
	const char *usage;       /* what follows the name: "[options] FILE" */
	const char *about;       /* more, after the options; lines end with \n; may be NULL */
	const char *exit_status; /* NULL: the usual ones that it can return */
	const struct hl_example *examples; /* at most four; ends with {0}; may be NULL */
	const struct hl_opt *opts;
	/* Rows that several commands have alike, hl_view_opts or NULL. A command that has them
	 * prints through the pager. */
	const struct hl_opt *shared;
	enum hl_operand operand;
	const char *(*word_at)(size_t i); /* NULL after the last */
	bool options_in_environment;      /* --foo-bar is also HEAPLAPSE_FOO_BAR */
	size_t state_size;                /* of the zeroed state that setters and run get */
	bool hidden;                      /* not for people: in no list */
	bool stops_at_operand; /* what follows the first operand is not ours (record PROG ARGS) */
	int usage_status; /* of a wrong command line, where HL_EXIT_USAGE could be a program's; 0:
			     that */
	void (*init)(void *state); /* before the options; may be NULL */
	/* After each option that was stored; may be NULL. */
	void (*taken)(void *state, const struct hl_opt *o);
	/* Operands only, argv[argc] == NULL; returns the exit status. */
	int (*run)(void *state, int argc, char **argv);
	void (*fini)(void *state); /* in the end, even if it did not run; may be NULL */
};

/* All commands, in the order of the help; ends with NULL. */
extern const struct hl_cmd *const hl_commands[];
const struct hl_cmd *hl_command_find(const char *name);

/* The command that runs, for messages; NULL before one is found. */
extern const struct hl_cmd *hl_command_current;

/* "heaplapse: ..." on stderr, with a newline; control characters in it are made visible. */
void hl_cli_error(const char *fmt, ...) hl_printf(1, 2);
/* "heaplapse COMMAND: ..." and where the help is; returns HL_EXIT_USAGE, or what the command has
 * instead. */
int hl_cli_usage(const char *fmt, ...) hl_printf(1, 2);
/* What the messages from here on are about, where there is more than one thing: "a.hlt: ...". The
 * caller's; NULL: the only one. */
void hl_cli_about(const char *subject);
/* Ends stdout: `status`, or HL_EXIT_IO with a message when what was printed did not arrive. */
int hl_cli_finish(int status);

/*
 * All rows of a command, its own, the shared ones and --help, by number; NULL after the last. Rows
 * without help text are among them.
 */
const struct hl_opt *hl_cmd_opt(const struct hl_cmd *cmd, size_t i);
/* The same without those that are not listed. */
const struct hl_opt *hl_cmd_listed_opt(const struct hl_cmd *cmd, size_t i);
bool hl_opt_arg_optional(const struct hl_opt *o);

/* --color, --no-pager: of every command that shows something at length. */
extern const struct hl_opt hl_view_opts[];

enum hl_help {
	HL_HELP_NONE,
	HL_HELP_SHORT, /* -h: fits a screen */
	HL_HELP_FULL,  /* --help */
};

/*
 * Takes the options out of argv (from argv[1] on) and leaves the operands in *operands, which
 * point into argv. 0, or HL_EXIT_USAGE with a message. *help: what of it was asked for.
 */
int hl_options_parse(const struct hl_cmd *cmd, void *state, int argc, char **argv, int *n_operands,
	char ***operands, enum hl_help *help);

/* The name most like `word`, or NULL when none is near. next gives names by index until NULL. */
const char *hl_suggest(
	const char *word, const char *(*next)(const void *from, size_t i), const void *from);

/* A number of seconds, or a time with its unit: 500ms, 2min. False: none, or out of bounds. */
bool hl_cli_duration(const char *text, uint64_t min_ns, uint64_t max_ns, uint64_t *ns);

#endif
