/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.h - wraps text to a given width. */
#ifndef HL_UTIL_TERMINAL_WRAP_H
#define HL_UTIL_TERMINAL_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* The columns of the first `len` bytes of UTF-8 text, one for each character. */
unsigned hl_wrap_columns(const char *s, size_t len);

/* Prints the words of text. The cursor is at `column`. New lines begin at `indent`. A word that is
 * longer than the width gets a line of its own. Ends with a newline. width 0: no wrapping. */
void hl_wrap(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width);
/* Returns how many lines hl_wrap() prints, at least 1. */
unsigned hl_wrap_lines(const char *text, unsigned column, unsigned indent, unsigned width);

/* Prints paragraphs: consecutive lines are joined and wrapped. Empty lines, and lines that begin
 * with a space, are printed unchanged. */
void hl_wrap_paragraphs(FILE *out, const char *text, unsigned indent, unsigned width);

#endif
