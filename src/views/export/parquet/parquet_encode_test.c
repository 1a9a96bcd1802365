/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_encode_test.c - decodes encoded values with an independent decoder, written after
 * Parquet's document on encodings, and checks some bytes literally.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/varint.h"
#include "views/export/parquet/parquet_encode.h"
#include "views/export/parquet/thrift.h"

#define MAX_VALUES 1000

/* Reads bit by bit, as the document shows it. */
static uint64_t read_bits(const uint8_t *p, size_t bit, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < width; i++)
		v |= (uint64_t)(p[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
	return v;
}

static const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	p = hl_varint_get(p, end, v);
	assert_non_null(p);
	return p;
}

/* Decodes up to n values; the last group of packed values may have more. Returns the number of
 * runs. */
static size_t read_runs(const struct hl_strbuf *b, uint32_t *v, size_t n, unsigned width)
{
	const uint8_t *p = (const uint8_t *)hl_strbuf_str(b), *end = p + b->len;
	size_t got = 0, runs = 0;

	while (got < n) {
		uint64_t head, count;

		p = read_varint(p, end, &head);
		count = head & 1 ? (head >> 1) * 8 : head >> 1;
		assert_true(count > 0);
		for (size_t i = 0; i < count && got < n; i++)
			v[got++] = (uint32_t)read_bits(p, head & 1 ? i * width : 0, width);
		p += head & 1 ? count * width / 8 : (width + 7) / 8;
		runs += !(head & 1);
		assert_true(p <= end);
	}
	assert_ptr_equal(p, end);
	return runs;
}

static size_t check_runs(const uint32_t *v, size_t n, unsigned width)
{
	struct hl_strbuf b = {0};
	uint32_t got[MAX_VALUES];
	size_t runs;

	hl_parquet_put_runs(&b, v, n, width);
	assert_int_equal(hl_strbuf_error(&b), 0);
	runs = read_runs(&b, got, n, width);
	assert_memory_equal(got, v, n * sizeof(*v));
	hl_strbuf_fini(&b);
	return runs;
}

/* Runs of various lengths at various positions, in all widths. */
static void runs_decode_to_the_same_values(void **state)
{
	uint32_t v[MAX_VALUES], seed = 1;

	for (unsigned width = 1; width <= 32; width++) {
		for (size_t n = 0; n < 200; n += 7) {
			for (size_t i = 0; i < n;) {
				size_t run = (seed = seed * 1103515245 + 12345) >> 16 & 31;

				for (size_t j = 0; j <= run && i < n; j++)
					v[i++] = seed >> (32 - width);
			}
			check_runs(v, n, width);
		}
	}
	memset(v, 0, sizeof(v));
	assert_int_equal(check_runs(v, MAX_VALUES, 1), 1);
	assert_int_equal(check_runs(v, 7, 1), 0);
	assert_int_equal(check_runs(v, 8, 1), 1);
	assert_int_equal(check_runs(v, MAX_VALUES, 0), 1);
	v[500] = 1; /* a group of 8 begins at 496; the rest of it is packed */
	assert_int_equal(check_runs(v, MAX_VALUES, 1), 2);
}

static void check_deltas(const int64_t *v, size_t n)
{
	struct hl_strbuf b = {0};
	const uint8_t *p, *end;
	uint64_t block, minis, count, first;
	uint64_t last;
	size_t got = 1;

	hl_parquet_put_deltas(&b, v, n);
	assert_int_equal(hl_strbuf_error(&b), 0);
	p = (const uint8_t *)b.data;
	end = p + b.len;
	p = read_varint(p, end, &block);
	p = read_varint(p, end, &minis);
	p = read_varint(p, end, &count);
	p = read_varint(p, end, &first);
	assert_int_equal(block % 128, 0);
	assert_int_equal(block / minis % 32, 0);
	assert_int_equal(count, n);
	last = (uint64_t)hl_unzigzag(first);
	if (n > 0)
		assert_int_equal(last, v[0]);
	while (got < n) {
		const uint8_t *widths;
		uint64_t min_delta;

		p = read_varint(p, end, &min_delta);
		widths = p;
		p += minis;
		for (size_t m = 0; m < minis; m++) {
			for (size_t i = 0; i < block / minis && got < n; i++) {
				last += (uint64_t)hl_unzigzag(min_delta) +
					read_bits(p, i * widths[m], widths[m]);
				assert_int_equal(last, v[got++]);
			}
			p += block / minis * widths[m] / 8;
		}
	}
	assert_ptr_equal(p, end);
	hl_strbuf_fini(&b);
}

static void deltas_decode_to_the_same_values(void **state)
{
	int64_t v[MAX_VALUES];
	uint64_t seed = 1;

	for (unsigned shift = 0; shift < 64; shift++) {
		for (size_t i = 0; i < MAX_VALUES; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
			v[i] = (int64_t)(seed >> shift);
		}
		for (size_t n = 0; n < MAX_VALUES; n += n < 140 ? 1 : 97)
			check_deltas(v, n);
	}
	for (size_t i = 0; i < MAX_VALUES; i++)
		v[i] = i % 2 ? INT64_MAX : INT64_MIN; /* the deltas wrap */
	check_deltas(v, MAX_VALUES);
	for (size_t i = 0; i < MAX_VALUES; i++)
		v[i] = 7 * (int64_t)i;
	check_deltas(v, MAX_VALUES);
}

static void width_is_the_number_of_bits_needed(void **state)
{
	assert_int_equal(hl_parquet_width(0), 0);
	assert_int_equal(hl_parquet_width(1), 0);
	assert_int_equal(hl_parquet_width(2), 1);
	assert_int_equal(hl_parquet_width(3), 2);
	assert_int_equal(hl_parquet_width(256), 8);
	assert_int_equal(hl_parquet_width(257), 9);
}

static void plain_values_are_little_endian(void **state)
{
	static const int64_t v[] = {1, -2, 0, 3, 0, 0, 0, 0, 1};
	static const uint8_t i32[] = {1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff};
	static const uint8_t i64[] = {
		1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 255, 255, 255, 255, 255, 255, 255};
	struct hl_strbuf b = {0};

	hl_parquet_put_i32(&b, v, 2);
	assert_int_equal(b.len, sizeof(i32));
	assert_memory_equal(b.data, i32, sizeof(i32));
	hl_strbuf_reset(&b);
	hl_parquet_put_i64(&b, v, 2);
	assert_int_equal(b.len, sizeof(i64));
	assert_memory_equal(b.data, i64, sizeof(i64));
	hl_strbuf_reset(&b);
	hl_parquet_put_bools(&b, v, 9);
	assert_int_equal(b.len, 2);
	assert_memory_equal(b.data, "\x0b\x01", 2);
	hl_strbuf_fini(&b);
}

/* Field ids continue within each structure, and after it in the enclosing one. */
static void thrift_field_ids_are_relative_within_a_structure(void **state)
{
	static const uint8_t bytes[] = {
		0x15, 0x01, 0x2c, 0x16, 0x80, 0x01, 0x18, 0x01, 'x', 0x00, 0x19, 0xf5, 0x10, 0x00};
	struct hl_thrift t = {0};

	hl_thrift_i32(&t, 1, -1);
	hl_thrift_begin(&t, 3);
	hl_thrift_i64(&t, 1, 64);
	hl_thrift_string(&t, 2, "x");
	hl_thrift_end(&t);
	hl_thrift_list(&t, 4, HL_THRIFT_I32, 16);
	hl_thrift_end(&t);
	assert_int_equal(t.out.len, sizeof(bytes));
	assert_memory_equal(t.out.data, bytes, sizeof(bytes));
	hl_strbuf_fini(&t.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_decode_to_the_same_values),
		cmocka_unit_test(deltas_decode_to_the_same_values),
		cmocka_unit_test(width_is_the_number_of_bits_needed),
		cmocka_unit_test(plain_values_are_little_endian),
		cmocka_unit_test(thrift_field_ids_are_relative_within_a_structure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
