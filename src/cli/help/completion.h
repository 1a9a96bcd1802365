/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.h - completion scripts for three shells, made from the command rows, one file each.
 *
 * Offered are commands, their options, the values of options that are a list of words or a file,
 * and operands by their kind.
 */
#ifndef HL_CLI_HELP_COMPLETION_H
#define HL_CLI_HELP_COMPLETION_H

#include <stdio.h>

#include "cli/cli.h"

void hl_completion_bash(FILE *out);
void hl_completion_zsh(FILE *out);
void hl_completion_fish(FILE *out);

/* The kinds of option values. */
enum hl_value_kind {
	HL_VALUE_NONE, /* the option takes none */
	HL_VALUE_ANY,  /* nothing that can be offered */
	HL_VALUE_FILE,
	HL_VALUE_DIRECTORY,
	HL_VALUE_WORDS, /* one of a few words */
};
enum hl_value_kind hl_value_kind(const struct hl_opt *o);
/* Writes the words of "on|off", separated by spaces, to buf of size n. */
void hl_value_words(const struct hl_opt *o, char *buf, size_t n);

/* Returns the next visible command, starting at *i, and advances *i; NULL after the last. */
const struct hl_cmd *hl_completion_next(size_t *i);

#endif
