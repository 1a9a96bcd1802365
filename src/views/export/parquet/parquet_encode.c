/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_encode.c - see parquet_encode.h.
 *
 * Everything is little-endian, and packed values begin at the lowest bit.
 */
#include "views/export/parquet/parquet_encode.h"

#include <endian.h>
#include <string.h>

#include "base/bits.h"
#include "base/varint.h"

#define DELTA_BLOCK 128
#define DELTA_MINI  32
#define DELTA_MINIS (DELTA_BLOCK / DELTA_MINI)
/* Maximum number of values packed at once, of up to 64 bits each. */
#define MAX_PACKED 32

unsigned hl_parquet_width(uint64_t n)
{
	return n < 2 ? 0 : hl_log2(n - 1) + 1;
}

static void put_varint(struct hl_strbuf *b, uint64_t v)
{
	uint8_t bytes[HL_VARINT_MAX];

	hl_strbuf_add(b, bytes, (size_t)(hl_varint_put(bytes, v) - bytes));
}

void hl_parquet_put_u32(struct hl_strbuf *b, uint32_t v)
{
	v = htole32(v);
	hl_strbuf_add(b, &v, sizeof(v));
}

/* n is a multiple of 8 and at most MAX_PACKED; each value is below 2^width. */
static void put_packed(struct hl_strbuf *b, const uint64_t *v, size_t n, unsigned width)
{
	uint64_t words[MAX_PACKED + 1] = {0};
	unsigned bit = 0;

	if (width == 0)
		return;
	for (size_t i = 0; i < n; i++, bit += width) {
		unsigned at = bit / 64, shift = bit % 64;

		words[at] |= v[i] << shift;
		if (shift + width > 64)
			words[at + 1] = v[i] >> (64 - shift);
	}
	for (unsigned i = 0; i <= bit / 64; i++)
		words[i] = htole64(words[i]);
	hl_strbuf_add(b, words, n * width / 8);
}

/* --- runs --- */

static void put_literals(struct hl_strbuf *b, const uint32_t *v, size_t n, unsigned width)
{
	if (n == 0)
		return;
	put_varint(b, (n + 7) / 8 << 1 | 1);
	for (size_t i = 0; i < n; i += MAX_PACKED) {
		uint64_t group[MAX_PACKED] = {0}; /* the last group is padded with 0 */
		size_t k = n - i < MAX_PACKED ? n - i : MAX_PACKED;

		for (size_t j = 0; j < k; j++)
			group[j] = v[i + j];
		put_packed(b, group, (k + 7) / 8 * 8, width);
	}
}

static void put_run(struct hl_strbuf *b, uint32_t v, size_t n, unsigned width)
{
	uint32_t le = htole32(v);

	put_varint(b, n << 1);
	hl_strbuf_add(b, &le, (width + 7) / 8);
}

void hl_parquet_put_runs(struct hl_strbuf *b, const uint32_t *v, size_t n, unsigned width)
{
	size_t begin = 0, i = 0;

	while (i < n) {
		size_t run = 1, in_group = (i - begin) % 8;

		while (i + run < n && v[i + run] == v[i])
			run++;
		if (in_group > 0 && run > 8 - in_group)
			run = 8 - in_group; /* literals come in groups of 8 */
		if (in_group == 0 && run >= 8) {
			put_literals(b, v + begin, i - begin, width);
			put_run(b, v[i], run, width);
			begin = i + run;
		}
		i += run;
	}
	put_literals(b, v + begin, n - begin, width);
}

/* --- deltas --- */

/* Writes the deltas of v[1..n] to the value before each; missing ones count as 0. */
static void put_delta_block(struct hl_strbuf *b, const int64_t *v, size_t n)
{
	uint64_t deltas[DELTA_BLOCK] = {0}, used[DELTA_MINIS] = {0};
	int64_t min_delta = INT64_MAX;
	uint8_t widths[DELTA_MINIS];

	/* Deltas may wrap; the reader wraps them back. */
	for (size_t i = 0; i < n; i++) {
		deltas[i] = (uint64_t)v[i + 1] - (uint64_t)v[i];
		min_delta = (int64_t)deltas[i] < min_delta ? (int64_t)deltas[i] : min_delta;
	}
	for (size_t i = 0; i < n; i++) {
		deltas[i] -= (uint64_t)min_delta;
		used[i / DELTA_MINI] |= deltas[i];
	}
	for (size_t i = 0; i < DELTA_MINIS; i++)
		widths[i] = used[i] ? (uint8_t)(hl_log2(used[i]) + 1) : 0;
	put_varint(b, hl_zigzag(min_delta));
	hl_strbuf_add(b, widths, sizeof(widths));
	for (size_t i = 0; i < DELTA_MINIS; i++)
		put_packed(b, deltas + i * DELTA_MINI, DELTA_MINI, widths[i]);
}

void hl_parquet_put_deltas(struct hl_strbuf *b, const int64_t *v, size_t n)
{
	put_varint(b, DELTA_BLOCK);
	put_varint(b, DELTA_MINIS);
	put_varint(b, n);
	put_varint(b, n > 0 ? hl_zigzag(v[0]) : 0);
	for (size_t i = 0; i + 1 < n; i += DELTA_BLOCK)
		put_delta_block(b, v + i, n - 1 - i < DELTA_BLOCK ? n - 1 - i : DELTA_BLOCK);
}

/* --- plain --- */

void hl_parquet_put_i32(struct hl_strbuf *b, const int64_t *v, size_t n)
{
	uint32_t group[256];

	for (size_t i = 0; i < n;) {
		size_t k = 0;

		for (; k < 256 && i < n; k++, i++)
			group[k] = htole32((uint32_t)v[i]);
		hl_strbuf_add(b, group, k * sizeof(*group));
	}
}

void hl_parquet_put_i64(struct hl_strbuf *b, const int64_t *v, size_t n)
{
	uint64_t group[256];

	for (size_t i = 0; i < n;) {
		size_t k = 0;

		for (; k < 256 && i < n; k++, i++)
			group[k] = htole64((uint64_t)v[i]);
		hl_strbuf_add(b, group, k * sizeof(*group));
	}
}

void hl_parquet_put_bools(struct hl_strbuf *b, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		unsigned byte = 0;

		for (size_t j = 0; j < 8 && i + j < n; j++)
			byte |= (v[i + j] != 0) << j;
		hl_strbuf_putc(b, (char)byte);
	}
}
