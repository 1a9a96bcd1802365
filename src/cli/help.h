/*
 * help.h - the rows as help: a screenful, everything, or the source of a manual page.
 *
 * All three say the same, because none of them knows anything that is not in the rows.
 */
#ifndef HL_CLI_HELP_H
#define HL_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

/* On stdout. cmd NULL: heaplapse as a whole. */
void hl_help_short(const struct hl_cmd *cmd);
void hl_help_full(const struct hl_cmd *cmd);
/* For scdoc(5). The hand-written text of docs/man takes the place of the DESCRIPTION. */
void hl_help_scdoc(const struct hl_cmd *cmd);

/* "-n, --limit=N", "    --color[=WHEN]": what a list has on the left. */
void hl_help_option(char *buf, size_t n, const struct hl_opt *o);
#define HL_HELP_OPTION_MAX 80

/* What an option is for, with the words that its value can be if it does not show them. */
const char *hl_help_of(const struct hl_opt *o);

/* What each exit status means; of this command. */
const char *hl_help_exit_status(const struct hl_cmd *cmd);

/* Names in the environment: first the options of `record`, then the others; false after the last.
 */
struct hl_env_row {
	char name[64];
	const char *value; /* what it is set to; NULL: 1 */
	const char *help;
};
bool hl_env_row(size_t i, struct hl_env_row *row);
void hl_help_environment(void);

#endif
