/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_reader.c - a cursor over bytes that may be damaged. It never reads past the end; such a read
 * returns 0.
 */
#include <string.h>

#include "record/unwind/cfi_internal.h"

uint64_t hl_byte_reader_fixed(struct hl_byte_reader *b, unsigned size)
{
	uint64_t v = 0;

	if (b->bad || (size_t)(b->end - b->p) < size) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, b->p, size); /* little-endian, as all supported CPUs */
	b->p += size;
	return v;
}

uint64_t hl_byte_reader_uleb(struct hl_byte_reader *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t c = (uint8_t)hl_byte_reader_fixed(b, 1);

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
}

int64_t hl_byte_reader_sleb(struct hl_byte_reader *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0;;) {
		uint8_t c = (uint8_t)hl_byte_reader_fixed(b, 1);

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		shift += 7;
		if (c & 0x80)
			continue;
		if (shift < 64 && (c & 0x40))
			v |= ~UINT64_C(0) << shift;
		return (int64_t)v;
	}
}

void hl_byte_reader_skip(struct hl_byte_reader *b, uint64_t n)
{
	if (b->bad || (uint64_t)(b->end - b->p) < n)
		b->bad = true;
	else
		b->p += n;
}

static uint64_t read_encoded(struct hl_byte_reader *b, uint8_t format)
{
	switch (format) {
	case 0x00:
		return hl_byte_reader_fixed(b, sizeof(uintptr_t));
	case 0x01:
		return hl_byte_reader_uleb(b);
	case 0x02:
		return hl_byte_reader_fixed(b, 2);
	case 0x03:
		return hl_byte_reader_fixed(b, 4);
	case 0x04:
	case 0x0c:
		return hl_byte_reader_fixed(b, 8);
	case 0x09:
		return (uint64_t)hl_byte_reader_sleb(b);
	case 0x0a:
		return (uint64_t)(int16_t)hl_byte_reader_fixed(b, 2);
	case 0x0b:
		return (uint64_t)(int32_t)hl_byte_reader_fixed(b, 4);
	default:
		b->bad = true;
		return 0;
	}
}

uintptr_t hl_byte_reader_pointer(struct hl_byte_reader *b, uint8_t encoding, uintptr_t data)
{
	uintptr_t at = (uintptr_t)b->p;
	uint64_t v = read_encoded(b, encoding & 0x0f);

	switch (encoding & 0x70) {
	case 0x00:
		break;
	case 0x10:
		v += at;
		break;
	case 0x30:
		v += data;
		break;
	default:
		b->bad = true;
	}
	if (encoding & 0x80)
		b->bad = true; /* indirect: never used for pcs, and the word may be unreadable */
	return (uintptr_t)v;
}
