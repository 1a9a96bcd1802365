/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf.h - a growing string.
 *
 * A zeroed strbuf is empty. An out-of-memory error is sticky: later additions do nothing and
 * hl_strbuf_error() returns it, so callers check once, at the end.
 */
#ifndef HL_UTIL_STRBUF_H
#define HL_UTIL_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"

struct hl_strbuf {
	char *data; /* NUL-terminated, or NULL */
	size_t len, cap;
	int err;
};

void hl_strbuf_fini(struct hl_strbuf *b);
/* Makes it empty and keeps its memory. */
void hl_strbuf_reset(struct hl_strbuf *b);
void hl_strbuf_add(struct hl_strbuf *b, const void *data, size_t len);
void hl_strbuf_puts(struct hl_strbuf *b, const char *s);
void hl_strbuf_putc(struct hl_strbuf *b, char c);
void hl_strbuf_printf(struct hl_strbuf *b, const char *fmt, ...) hl_printf(2, 3);
void hl_strbuf_vprintf(struct hl_strbuf *b, const char *fmt, va_list args) hl_printf(2, 0);

/* Never NULL. Valid until the next change; it belongs to the strbuf. */
const char *hl_strbuf_str(const struct hl_strbuf *b);
/* Returns 0 or -ENOMEM. */
int hl_strbuf_error(const struct hl_strbuf *b);

#endif
