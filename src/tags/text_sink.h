/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_sink.h - writes text where neither stdio nor malloc may be used.
 *
 * The caller provides the buffer of a sink. When it is full, `flush` empties it. Without `flush`
 * the rest is left out, and `total` is the length of the whole text.
 */
#ifndef HL_TAGS_TEXT_SINK_H
#define HL_TAGS_TEXT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_text_sink {
	char *buf;
	size_t cap, len;
	uint64_t total;
	int (*flush)(struct hl_text_sink *s); /* 0 or -errno */
	void *arg;                            /* for flush */
	int err;                              /* the first error; nothing is added after it */
};

void hl_text_sink_add(struct hl_text_sink *s, const char *text, size_t len);
void hl_text_sink_puts(struct hl_text_sink *s, const char *text);
void hl_text_sink_u64(struct hl_text_sink *s, uint64_t n);
void hl_text_sink_i64(struct hl_text_sink *s, int64_t n);
/* With two decimals: 1234 is 12.34. */
void hl_text_sink_hundredths(struct hl_text_sink *s, uint64_t n);
/* "12.4 MiB", "-512 B", right-aligned in `width`. */
void hl_text_sink_bytes(struct hl_text_sink *s, int64_t bytes, size_t width);
void hl_text_sink_i64_right(struct hl_text_sink *s, int64_t n, size_t width);
/* Text within quotes of JSON or DOT, or for a terminal. Invalid UTF-8 and unsafe characters become
 * U+FFFD, and control characters are made visible. */
enum hl_text_sink_quote { HL_QUOTE_JSON, HL_QUOTE_DOT, HL_QUOTE_TEXT };
void hl_text_sink_quoted(
	struct hl_text_sink *s, enum hl_text_sink_quote how, const char *text, size_t len);
/* Flushes the rest. Returns 0 or the first error. */
int hl_text_sink_end(struct hl_text_sink *s);

#endif
