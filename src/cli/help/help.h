/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h - help made from the command rows: one screen, full help, or the source of a manual page.
 *
 * All three have the same content, because all text comes from the rows.
 */
#ifndef HL_CLI_HELP_HELP_H
#define HL_CLI_HELP_HELP_H

#include <stdio.h>

#include "cli/cli.h"

/* Print to stdout. cmd NULL: help for heaplapse as a whole. */
void hl_help_short(const struct hl_cmd *cmd);
void hl_help_full(const struct hl_cmd *cmd);
/* Prints the source of a manual page for scdoc(5). The hand-written text of docs/man replaces the
 * DESCRIPTION. */
void hl_help_scdoc(const struct hl_cmd *cmd);

/* Writes the left column of a list of options: "-n, --limit=N", " --color[=WHEN]". */
void hl_help_option(char *buf, size_t n, const struct hl_opt *o);
#define HL_HELP_OPTION_MAX 80

/* Returns the help text of an option. The valid words are added if the option's placeholder does
 * not show them. */
const char *hl_help_option_text(const struct hl_opt *o);

/* Returns the meanings of the exit statuses of this command. */
const char *hl_help_exit_status(const struct hl_cmd *cmd);

/* Sets *row to environment variable i: first the options of `record`, then the others. Returns
 * false after the last. */
struct hl_env_row {
	char name[64];
	const char *value; /* placeholder of the value; NULL: 1 */
	const char *help;
};
bool hl_env_row(size_t i, struct hl_env_row *row);
void hl_help_environment(void);

#endif
