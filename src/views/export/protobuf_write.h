/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf_write.h - writes the parts of protobuf that pprof's format uses, into memory.
 */
#ifndef HL_VIEWS_EXPORT_PROTOBUF_WRITE_H
#define HL_VIEWS_EXPORT_PROTOBUF_WRITE_H

#include "base/varint.h"
#include "util/strbuf.h"

static inline void hl_pb_put_varint(struct hl_strbuf *b, uint64_t v)
{
	uint8_t bytes[HL_VARINT_MAX];

	hl_strbuf_add(b, bytes, (size_t)(hl_varint_put(bytes, v) - bytes));
}

/* A number. 0 is the default and is not written. */
static inline void hl_pb_u64(struct hl_strbuf *b, unsigned field, uint64_t v)
{
	if (v == 0)
		return;
	hl_pb_put_varint(b, (uint64_t)field << 3);
	hl_pb_put_varint(b, v);
}

/* A string, an encoded message, or packed numbers. */
static inline void hl_pb_bytes(struct hl_strbuf *b, unsigned field, const void *data, size_t n)
{
	hl_pb_put_varint(b, (uint64_t)field << 3 | 2);
	hl_pb_put_varint(b, n);
	hl_strbuf_add(b, data, n);
}

static inline void hl_pb_message(struct hl_strbuf *b, unsigned field, const struct hl_strbuf *m)
{
	hl_pb_bytes(b, field, m->data, m->len);
}

#endif
