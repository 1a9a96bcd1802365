/* SPDX-License-Identifier: Apache-2.0 */
/*
 * protobuf_read.h - reads protocol buffer messages field by field. Every length is checked.
 */
#ifndef HL_IMPORT_PROTOBUF_READ_H
#define HL_IMPORT_PROTOBUF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

struct hl_pb {
	const uint8_t *p, *end;
	bool bad; /* malformed from p on */
};

/* A field: a number in v, or bytes at p. */
struct hl_pb_field {
	uint64_t number, v;
	bool is_bytes;
	const uint8_t *p;
	size_t len;
};

static inline bool hl_pb_get_varint(struct hl_pb *m, uint64_t *v)
{
	const uint8_t *next = hl_varint_get(m->p, m->end, v);

	m->bad |= !next;
	m->p = next ? next : m->p;
	return next != NULL;
}

/* Reads the next field; false at the end or if the message is malformed. */
static inline bool hl_pb_next(struct hl_pb *m, struct hl_pb_field *f)
{
	uint64_t tag, len;

	if (m->bad || m->p == m->end || !hl_pb_get_varint(m, &tag))
		return false;
	*f = (struct hl_pb_field){.number = tag >> 3, .is_bytes = (tag & 7) == 2, .p = m->p};
	switch (tag & 7) {
	case 0:
		return hl_pb_get_varint(m, &f->v);
	case 1:
	case 5:
		len = (tag & 7) == 1 ? 8 : 4; /* fixed-size numbers are not used */
		break;
	case 2:
		if (!hl_pb_get_varint(m, &len))
			return false;
		break;
	default:
		len = UINT64_MAX;
	}
	if (f->number == 0 || len > (uint64_t)(m->end - m->p)) {
		m->bad = true;
		return false;
	}
	f->p = m->p;
	f->len = (size_t)len;
	m->p += len;
	return true;
}

static inline struct hl_pb hl_pb_submessage(const struct hl_pb_field *f)
{
	return (struct hl_pb){.p = f->p, .end = f->p + f->len, .bad = !f->is_bytes};
}

#endif
