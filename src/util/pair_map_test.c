/* SPDX-License-Identifier: Apache-2.0 */
/* pair_map_test.c - pair maps and string tables return what was put in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "util/pair_map.h"
#include "util/string_table.h"

static void pair_map_returns_stored_values(void **state)
{
	struct hl_pair_map m = {0};

	assert_int_equal(hl_pair_map_get(&m, 1, 2), HL_PAIR_MAP_NONE);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(hl_pair_map_put(&m, i % 100, i / 100, i), 0);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(hl_pair_map_get(&m, i % 100, i / 100), i);
	assert_int_equal(hl_pair_map_get(&m, 100, 0), HL_PAIR_MAP_NONE);
	hl_pair_map_fini(&m);
}

static void string_table_ids_and_pointers_are_stable(void **state)
{
	struct hl_string_table s = {0};
	char text[64], *big = calloc(1, 100001);
	const char *first;
	uint32_t id;

	assert_int_equal(hl_string_table_add(&s, "", &id), 0);
	first = hl_string_table_get(&s, id);
	for (uint32_t i = 1; i < 5000; i++) {
		snprintf(text, sizeof(text), "string number %u", i);
		assert_int_equal(hl_string_table_add(&s, text, &id), 0);
		assert_int_equal(id, i);
	}
	memset(big, 'x', 100000);
	assert_int_equal(hl_string_table_add(&s, big, &id), 0);
	assert_int_equal(id, 5000);
	for (uint32_t i = 1; i < 5000; i++) {
		snprintf(text, sizeof(text), "string number %u", i);
		assert_int_equal(hl_string_table_add(&s, text, &id), 0);
		assert_int_equal(id, i);
		assert_string_equal(hl_string_table_get(&s, id), text);
	}
	assert_int_equal(hl_string_table_add(&s, big, &id), 0);
	assert_int_equal(id, 5000);
	assert_ptr_equal(first, hl_string_table_get(&s, 0)); /* strings never move */
	free(big);
	hl_string_table_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pair_map_returns_stored_values),
		cmocka_unit_test(string_table_ids_and_pointers_are_stable)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
