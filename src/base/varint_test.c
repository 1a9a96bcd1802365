/* SPDX-License-Identifier: Apache-2.0 */
/* varint_test.c - round trips at every length, and malformed input. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/varint.h"

static void round_trips(void **state)
{
	uint8_t buf[HL_VARINT_MAX];

	for (unsigned bit = 0; bit < 64; bit++) {
		for (int d = -1; d <= 1; d++) {
			uint64_t v = (UINT64_C(1) << bit) + (uint64_t)d, got = ~v;
			uint8_t *end = hl_varint_put(buf, v);

			assert_ptr_equal(hl_varint_get(buf, end, &got), end);
			assert_int_equal(got, v);
			assert_null(hl_varint_get(buf, end - 1, &got));
		}
	}
}

static void rejects_malformed_input(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{"", 0},
		{"\x80", 1},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10}, /* 65 bits */
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *p = (const uint8_t *)cases[i].bytes;
		assert_null(hl_varint_get(p, p + cases[i].len, &v));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(rejects_malformed_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
