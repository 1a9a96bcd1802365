/*
 * completion.h - the rows as completion for three shells, one file each.
 *
 * What is offered: commands, their options, the values of options that are a list of words or a
 * file, and operands by their kind.
 */
#ifndef HL_CLI_COMPLETION_H
#define HL_CLI_COMPLETION_H

#include <stdio.h>

#include "cli/cli.h"

void hl_completion_bash(FILE *out);
void hl_completion_zsh(FILE *out);
void hl_completion_fish(FILE *out);

/* What an option's value can be. */
enum hl_value_kind {
	HL_VALUE_NONE, /* it takes none */
	HL_VALUE_ANY,  /* nothing that we could offer */
	HL_VALUE_FILE,
	HL_VALUE_FOLDER,
	HL_VALUE_WORDS, /* one of a few */
};
enum hl_value_kind hl_value_kind(const struct hl_opt *o);
/* Appends the words of "on|off" with a space between them to buf, which has room for n. */
void hl_value_words(const struct hl_opt *o, char *buf, size_t n);

/* The next command that is shown, from *i on, which moves on; NULL after the last. */
const struct hl_cmd *hl_completion_next(size_t *i);

#endif
