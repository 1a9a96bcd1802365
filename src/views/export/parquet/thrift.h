/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift.h - writes the parts of Thrift's compact protocol that Parquet's metadata uses, into
 * memory.
 *
 * A field is identified by the difference between its id and the previous one, so each open
 * structure keeps the id of its last field.
 */
#ifndef HL_VIEWS_EXPORT_PARQUET_THRIFT_H
#define HL_VIEWS_EXPORT_PARQUET_THRIFT_H

#include <string.h>

#include "base/bits.h"
#include "base/varint.h"
#include "util/strbuf.h"

enum hl_thrift_type {
	HL_THRIFT_TRUE = 1,
	HL_THRIFT_FALSE = 2,
	HL_THRIFT_I32 = 5,
	HL_THRIFT_I64 = 6,
	HL_THRIFT_BINARY = 8,
	HL_THRIFT_LIST = 9,
	HL_THRIFT_STRUCT = 12,
};

#define HL_THRIFT_DEPTH 8

struct hl_thrift {
	struct hl_strbuf out;
	unsigned last[HL_THRIFT_DEPTH], depth; /* one structure is open from the start */
};

static inline void hl_thrift_varint(struct hl_thrift *t, uint64_t v)
{
	uint8_t bytes[HL_VARINT_MAX];

	hl_strbuf_add(&t->out, bytes, (size_t)(hl_varint_put(bytes, v) - bytes));
}

/* Ids must increase, by less than 16. */
static inline void hl_thrift_field(struct hl_thrift *t, unsigned field, enum hl_thrift_type type)
{
	hl_strbuf_putc(&t->out, (char)((field - t->last[t->depth]) << 4 | type));
	t->last[t->depth] = field;
}

/* i32 and i64 differ only in their type. */
static inline void hl_thrift_i32(struct hl_thrift *t, unsigned field, int32_t v)
{
	hl_thrift_field(t, field, HL_THRIFT_I32);
	hl_thrift_varint(t, hl_zigzag(v));
}
static inline void hl_thrift_i64(struct hl_thrift *t, unsigned field, int64_t v)
{
	hl_thrift_field(t, field, HL_THRIFT_I64);
	hl_thrift_varint(t, hl_zigzag(v));
}

static inline void hl_thrift_bytes(struct hl_thrift *t, unsigned field, const void *data, size_t n)
{
	hl_thrift_field(t, field, HL_THRIFT_BINARY);
	hl_thrift_varint(t, n);
	hl_strbuf_add(&t->out, data, n);
}
static inline void hl_thrift_string(struct hl_thrift *t, unsigned field, const char *s)
{
	hl_thrift_bytes(t, field, s, strlen(s));
}

/* n elements must follow: numbers by hl_thrift_varint, structures by hl_thrift_element. */
static inline void hl_thrift_list(
	struct hl_thrift *t, unsigned field, enum hl_thrift_type of, size_t n)
{
	hl_thrift_field(t, field, HL_THRIFT_LIST);
	hl_strbuf_putc(&t->out, (char)((n < 15 ? n : 15) << 4 | of));
	if (n >= 15)
		hl_thrift_varint(t, n);
}

static inline void hl_thrift_element(struct hl_thrift *t)
{
	t->last[++t->depth] = 0;
}
static inline void hl_thrift_begin(struct hl_thrift *t, unsigned field)
{
	hl_thrift_field(t, field, HL_THRIFT_STRUCT);
	hl_thrift_element(t);
}
/* Ends the structure that hl_thrift_begin or hl_thrift_element began, or the outermost one. */
static inline void hl_thrift_end(struct hl_thrift *t)
{
	hl_strbuf_putc(&t->out, 0);
	if (t->depth > 0)
		t->depth--;
}

/* Clears it for reuse. */
static inline void hl_thrift_reset(struct hl_thrift *t)
{
	hl_strbuf_reset(&t->out);
	t->depth = 0;
	t->last[0] = 0;
}

#endif
