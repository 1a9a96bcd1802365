/*
 * fmt.h - numbers to text where stdio may not go.
 */
#ifndef HL_BASE_FMT_H
#define HL_BASE_FMT_H

#include <stddef.h>
#include <stdint.h>

/* Decimal with a NUL; buf has room for 21 bytes. Returns the length. */
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
