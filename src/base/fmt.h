/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fmt.h - numbers as text, for code that must not use stdio.
 */
#ifndef HL_BASE_FMT_H
#define HL_BASE_FMT_H

#include <stddef.h>
#include <stdint.h>

/* Writes v in decimal with a NUL; buf must hold 21 bytes. Returns the length without the NUL. */
static inline size_t hl_fmt_u64(char *buf, uint64_t v)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (size_t i = 0; i < n; i++)
		buf[i] = digits[n - 1 - i];
	buf[n] = '\0';
	return n;
}

#endif
