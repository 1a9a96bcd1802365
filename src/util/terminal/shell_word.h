/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_word.h - words of a command line that a user can copy into a shell.
 */
#ifndef HL_UTIL_TERMINAL_SHELL_WORD_H
#define HL_UTIL_TERMINAL_SHELL_WORD_H

#include "util/strbuf.h"

/* Appends a word, in quotes if a shell would interpret it. */
void hl_shell_put_word(struct hl_strbuf *b, const char *word);
/* The same for the path of a file, which may begin with a hyphen: no command takes it for an
 * option. */
void hl_shell_put_path(struct hl_strbuf *b, const char *path);

#endif
