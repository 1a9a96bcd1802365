/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_text.h - makes untrusted strings safe to print.
 *
 * Names in a trace come from the recorded program, which may be hostile or faulty. Output of
 * hl_text_escape cannot move the cursor, start an escape sequence, end a line or reorder the text
 * around it.
 */
#ifndef HL_UTIL_SAFE_TEXT_H
#define HL_UTIL_SAFE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/strbuf.h"

#define HL_RUNE_BAD UINT32_C(0xfffd)

/*
 * Decodes one UTF-8 character from s, which has len > 0 bytes, and returns the number of bytes it
 * occupies. An invalid byte (overlong form, surrogate, incomplete sequence) gives HL_RUNE_BAD and
 * 1.
 */
size_t hl_rune_decode(const char *s, size_t len, uint32_t *rune);
/* True for control characters (C0, DEL, C1), line separators and marks that change the text
 * direction. */
bool hl_rune_is_unsafe(uint32_t rune);

/* Appends s with unsafe characters as \n, \t, \x1b or \u{202e} and bytes that are not UTF-8 as
 * U+FFFD. */
void hl_text_escape(struct hl_strbuf *out, const char *s);
/* Appends s and replaces only bytes that are not UTF-8: for file formats that require UTF-8. */
void hl_text_sanitize(struct hl_strbuf *out, const char *s);

/* Format as "12.4 MiB" or "512 B". All hl_text_* functions with a buffer return it; it must have
 * HL_TEXT_SIZE_MAX bytes. */
#define HL_TEXT_SIZE_MAX 32
char *hl_text_bytes(char *buf, uint64_t bytes);
/* "12,345,678 B" */
char *hl_text_bytes_exact(char *buf, uint64_t bytes);
/* "12,345" */
char *hl_text_count(char *buf, uint64_t n);
/* "1.250 s", "300.0 ms", "12.0 us", "64 ns" */
char *hl_text_duration(char *buf, uint64_t ns);
/* The same, rounded up: for the first moment of a range, which users type in again. */
char *hl_text_duration_up(char *buf, uint64_t ns);

#endif
