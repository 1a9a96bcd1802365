/*
 * sink.h - text on its way out, in places where neither stdio nor malloc may be used.
 *
 * A sink has room of its caller's. When it is full `flush` takes what is there; without one the
 * rest is left out, and `total` says how much there would have been.
 */
#ifndef HL_TAGS_SINK_H
#define HL_TAGS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_sink {
	char *room;
	size_t cap, len;
	uint64_t total;
	int (*flush)(struct hl_sink *s); /* 0 or -errno */
	void *arg;                       /* flush's */
	int err;                         /* the first; nothing is put after it */
};

void hl_sink_add(struct hl_sink *s, const char *text, size_t len);
void hl_sink_puts(struct hl_sink *s, const char *text);
void hl_sink_u64(struct hl_sink *s, uint64_t n);
void hl_sink_i64(struct hl_sink *s, int64_t n);
/* With two decimals: 1234 is 12.34. */
void hl_sink_hundredths(struct hl_sink *s, uint64_t n);
/* "12.4 MiB", "-512 B", right-aligned in `width`. */
void hl_sink_bytes(struct hl_sink *s, int64_t bytes, size_t width);
void hl_sink_right(struct hl_sink *s, int64_t n, size_t width);
/* Within quotes of JSON or DOT, and on a terminal: what is no UTF-8 becomes U+FFFD, and controls
 * are made visible. */
enum hl_sink_quote { HL_QUOTE_JSON, HL_QUOTE_DOT, HL_QUOTE_TEXT };
void hl_sink_quoted(struct hl_sink *s, enum hl_sink_quote how, const char *text, size_t len);
/* Hands over what is left. 0, or the first error. */
int hl_sink_end(struct hl_sink *s);

#endif
