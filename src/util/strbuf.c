/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.c - a growing string; see strbuf.h. */
#include "util/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

void hl_strbuf_fini(struct hl_strbuf *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

void hl_strbuf_reset(struct hl_strbuf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = 0;
}

/* Reserves `more` bytes and one for the NUL. */
static int reserve_bytes(struct hl_strbuf *b, size_t more)
{
	if (!b->err)
		b->err = hl_vec_grow((void **)&b->data, &b->cap, b->len + more + 1, 1);
	return b->err;
}

void hl_strbuf_add(struct hl_strbuf *b, const void *data, size_t len)
{
	if (reserve_bytes(b, len))
		return;
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = 0;
}

void hl_strbuf_puts(struct hl_strbuf *b, const char *s)
{
	hl_strbuf_add(b, s, strlen(s));
}

void hl_strbuf_putc(struct hl_strbuf *b, char c)
{
	hl_strbuf_add(b, &c, 1);
}

void hl_strbuf_vprintf(struct hl_strbuf *b, const char *fmt, va_list args)
{
	va_list args_copy;
	int n;

	va_copy(args_copy, args);
	n = vsnprintf(NULL, 0, fmt, args);
	if (n >= 0 && reserve_bytes(b, (size_t)n) == 0) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, args_copy);
		b->len += (size_t)n;
	}
	va_end(args_copy);
}

void hl_strbuf_printf(struct hl_strbuf *b, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	hl_strbuf_vprintf(b, fmt, args);
	va_end(args);
}

const char *hl_strbuf_str(const struct hl_strbuf *b)
{
	return b->data ? b->data : "";
}

int hl_strbuf_error(const struct hl_strbuf *b)
{
	return b->err;
}
