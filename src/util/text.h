/*
 * text.h - strings of unknown origin, made fit to be shown.
 *
 * Names in a trace come from the recorded program, which may be hostile or just odd. Nothing that
 * leaves these functions can move a cursor, start an escape sequence, end a line or reorder what
 * is around it.
 */
#ifndef HL_UTIL_TEXT_H
#define HL_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/strbuf.h"

#define HL_RUNE_BAD UINT32_C(0xfffd)

/*
 * Reads one character of UTF-8 from s, which has len > 0 bytes, and returns how many bytes it
 * took. What is not UTF-8 (overlong, a surrogate, cut short) is HL_RUNE_BAD, one byte at a time.
 */
size_t hl_rune_decode(const char *s, size_t len, uint32_t *rune);
/* Controls (C0, DEL, C1), line separators and marks that change the direction of writing. */
bool hl_rune_is_unsafe(uint32_t rune);

/* Appends s: unsafe characters as \n, \t, \x1b or \u{202e}, bytes that are not UTF-8 as U+FFFD. */
void hl_text_escape(struct hl_strbuf *out, const char *s);
/* Appends s as it is, but for bytes that are not UTF-8: for files of formats that must be. */
void hl_text_mend(struct hl_strbuf *out, const char *s);

/* "12.4 MiB", "512 B". The buffer must have HL_TEXT_SIZE_MAX bytes and is returned. */
#define HL_TEXT_SIZE_MAX 32
char *hl_text_bytes(char *buf, uint64_t bytes);
/* Exact numbers instead ("12,345 B"), for the rest of the process: --bytes. */
void hl_text_exact_bytes(bool exact);
/* "12,345" */
char *hl_text_count(char *buf, uint64_t n);
/* "1.250 s", "300.0 ms", "12.0 us", "64 ns" */
char *hl_text_duration(char *buf, uint64_t ns);

#endif
