/* announced_test.c - each id is new once; a full table says so once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ring/announced.h"

static struct hl_announced table;

static void once_each(void **state)
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

static void full(void **state)
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(once_each), cmocka_unit_test(full)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
