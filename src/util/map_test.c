/*
 * map_test.c - maps and string sets against what was put in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "util/map.h"
#include "util/strings.h"

static void map(void **state)
{
	struct hl_map m = {0};

	assert_int_equal(hl_map_get(&m, 1, 2), HL_MAP_NONE);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(hl_map_put(&m, i % 100, i / 100, i), 0);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(hl_map_get(&m, i % 100, i / 100), i);
	assert_int_equal(hl_map_get(&m, 100, 0), HL_MAP_NONE);
	hl_map_fini(&m);
}

static void strings(void **state)
{
	struct hl_strings s = {0};
	char text[64], *big = calloc(1, 100001);
	const char *first;
	uint32_t id;

	assert_int_equal(hl_strings_add(&s, "", &id), 0);
	first = hl_strings_get(&s, id);
	for (uint32_t i = 1; i < 5000; i++) {
		snprintf(text, sizeof(text), "string number %u", i);
		assert_int_equal(hl_strings_add(&s, text, &id), 0);
		assert_int_equal(id, i);
	}
	memset(big, 'x', 100000);
	assert_int_equal(hl_strings_add(&s, big, &id), 0);
	assert_int_equal(id, 5000);
	for (uint32_t i = 1; i < 5000; i++) {
		snprintf(text, sizeof(text), "string number %u", i);
		assert_int_equal(hl_strings_add(&s, text, &id), 0);
		assert_int_equal(id, i);
		assert_string_equal(hl_strings_get(&s, id), text);
	}
	assert_int_equal(hl_strings_add(&s, big, &id), 0);
	assert_int_equal(id, 5000);
	assert_ptr_equal(first, hl_strings_get(&s, 0)); /* strings never move */
	free(big);
	hl_strings_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(map), cmocka_unit_test(strings)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
