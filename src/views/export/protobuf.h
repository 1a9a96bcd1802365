/*
 * protobuf.h - the few forms of protobuf that pprof's format has, into memory.
 */
#ifndef HL_VIEWS_EXPORT_PROTOBUF_H
#define HL_VIEWS_EXPORT_PROTOBUF_H

#include <string.h>

#include "base/varint.h"
#include "util/strbuf.h"

static inline void hl_pb_varint(struct hl_strbuf *b, uint64_t v)
{
	uint8_t bytes[HL_VARINT_MAX];

	hl_strbuf_add(b, bytes, (size_t)(hl_varint_put(bytes, v) - bytes));
}

/* A number; 0 is what is there when nothing is. */
static inline void hl_pb_u64(struct hl_strbuf *b, unsigned field, uint64_t v)
{
	if (v == 0)
		return;
	hl_pb_varint(b, (uint64_t)field << 3);
	hl_pb_varint(b, v);
}

/* A string, a message that has been made, or numbers in a row. */
static inline void hl_pb_bytes(struct hl_strbuf *b, unsigned field, const void *data, size_t n)
{
	hl_pb_varint(b, (uint64_t)field << 3 | 2);
	hl_pb_varint(b, n);
	hl_strbuf_add(b, data, n);
}

static inline void hl_pb_string(struct hl_strbuf *b, unsigned field, const char *s)
{
	hl_pb_bytes(b, field, s, strlen(s));
}

static inline void hl_pb_message(struct hl_strbuf *b, unsigned field, const struct hl_strbuf *m)
{
	hl_pb_bytes(b, field, m->data, m->len);
}

#endif
