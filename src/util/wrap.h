/*
 * wrap.h - text in lines of a given width.
 */
#ifndef HL_UTIL_WRAP_H
#define HL_UTIL_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* How many columns the first `len` bytes of UTF-8 take, one for each character. */
unsigned hl_wrap_columns(const char *s, size_t len);

/*
 * Prints the words of text, the cursor being at `column`. New lines begin at `indent`; a word that
 * is too long stands alone on its line. Ends with a newline. width 0: one line.
 */
void hl_wrap(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width);

/*
 * Paragraphs: neighbouring lines are joined and wrapped, lines that begin with a space stay as they
 * are, as do empty ones.
 */
void hl_wrap_paragraphs(FILE *out, const char *text, unsigned indent, unsigned width);

#endif
