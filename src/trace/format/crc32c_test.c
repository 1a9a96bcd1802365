/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c_test.c - known values, and a comparison of the instruction with the tables. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/hash.h"
#include "trace/format/crc32c.h"

static void known_values(void **state)
{
	uint8_t zeros[32] = {0}; /* from RFC 3720, B.4 */

	assert_int_equal(hl_crc32c(0, "123456789", 9), 0xe3069283u);
	assert_int_equal(hl_crc32c(0, zeros, 32), 0x8a9136aau);
	assert_int_equal(hl_crc32c_table(0, "123456789", 9), 0xe3069283u);
}

static void instruction_and_table_agree(void **state)
{
	uint8_t buf[300];

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)hl_hash_u64(i);
	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; len < 280; len++) {
			uint32_t a = hl_crc32c(0, buf + from, len);

			assert_int_equal(a, hl_crc32c_table(0, buf + from, len));
			assert_int_equal(a, hl_crc32c(hl_crc32c(0, buf + from, len / 3),
						    buf + from + len / 3, len - len / 3));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(instruction_and_table_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
