/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varint.h - variable-length integers (LEB128): seven bits per byte, low bits first, the top bit
 * set on all bytes but the last. At most ten bytes.
 */
#ifndef HL_BASE_VARINT_H
#define HL_BASE_VARINT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HL_VARINT_MAX 10

/* Writes v at p, which has room for HL_VARINT_MAX bytes; returns the byte after it. */
static inline uint8_t *hl_varint_put(uint8_t *p, uint64_t v)
{
	if (v >> 56 == 0) {
		/*
		 * No loop: its end would be an unpredictable branch. All eight bytes are stored,
		 * and the pointer advances by the length.
		 */
		unsigned extra = (63u - (unsigned)__builtin_clzll(v | 1)) / 7; /* length - 1 */
		uint64_t x = v;

		x = (x & UINT64_C(0x000000000fffffff)) | (x & UINT64_C(0x00fffffff0000000)) << 4;
		x = (x & UINT64_C(0x00003fff00003fff)) | (x & UINT64_C(0x0fffc0000fffc000)) << 2;
		x = (x & UINT64_C(0x007f007f007f007f)) | (x & UINT64_C(0x3f803f803f803f80)) << 1;
		x |= UINT64_C(0x8080808080808080) & ((UINT64_C(1) << extra * 8) - 1);
		x = htole64(x);
		memcpy(p, &x, sizeof(x));
		return p + extra + 1;
	}
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/*
 * Reads a number from [p, end) into *v. Returns the byte after it, or NULL if it is truncated or
 * has more than 64 bits.
 */
static inline const uint8_t *hl_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t x = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (p == end)
			return NULL;
		uint8_t b = *p++;
		if (shift == 63 && b > 1)
			return NULL;
		x |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*v = x;
			return p;
		}
	}
	return NULL;
}

#endif
