/* SPDX-License-Identifier: Apache-2.0 */
/* announced_programs_test.c - each id is new once; a full table is reported once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ring/announced_programs.h"

static struct hl_announced table;

static void each_id_is_new_once(void **state)
{
	table = (struct hl_announced){0};
	for (uint64_t id = 1; id < 20; id++) {
		assert_int_equal(hl_announced_add(&table, id * HL_ANNOUNCED_MAX), HL_ANNOUNCED_NEW);
		assert_int_equal(hl_announced_add(&table, HL_ANNOUNCED_MAX), HL_ANNOUNCED_KNOWN);
	}
	for (uint64_t id = 1; id < 20; id++)
		assert_int_equal(
			hl_announced_add(&table, id * HL_ANNOUNCED_MAX), HL_ANNOUNCED_KNOWN);
	assert_int_equal(hl_announced_add(&table, 0), HL_ANNOUNCED_KNOWN);
}

static void full_table_is_reported_once(void **state)
{
	table = (struct hl_announced){0};
	for (uint64_t id = 1; id <= HL_ANNOUNCED_MAX; id++)
		assert_int_equal(hl_announced_add(&table, id), HL_ANNOUNCED_NEW);
	assert_int_equal(hl_announced_add(&table, 1), HL_ANNOUNCED_KNOWN);
	assert_int_equal(hl_announced_add(&table, UINT64_MAX), HL_ANNOUNCED_FULL);
	assert_int_equal(hl_announced_add(&table, UINT64_MAX - 1), HL_ANNOUNCED_KNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_id_is_new_once),
		cmocka_unit_test(full_table_is_reported_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
