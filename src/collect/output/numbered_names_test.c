/* SPDX-License-Identifier: Apache-2.0 */
/* numbered_names_test.c - numbers of traces that share a name: free ones are found with few
 * calls. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "collect/output/numbered_names.h"

static unsigned n_calls;

/* Numbers up to *arg are taken. */
static bool is_taken_up_to(const void *arg, uint32_t number)
{
	n_calls++;
	return number <= *(const uint32_t *)arg;
}

static void number_goes_before_the_suffix(void **state)
{
	static const struct {
		const char *name;
		uint32_t number;
		const char *out;
	} cases[] = {
		{"x.hlt", 1, "x.hlt"},
		{"x.hlt", 2, "x.2.hlt"},
		{"a/x.hlt", 12345, "a/x.12345.hlt"},
		{"x", 3, "x.3"},
		{".hlt", 2, ".hlt.2"},
		{"x.hltx", 2, "x.hltx.2"},
	};
	char buf[32];

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		assert_int_equal(
			hl_numbered_names_name(buf, sizeof(buf), cases[i].name, cases[i].number),
			0);
		assert_string_equal(buf, cases[i].out);
	}
	assert_int_equal(hl_numbered_names_name(buf, 5, "x.hlt", 1), -ENAMETOOLONG);
	assert_int_equal(hl_numbered_names_name(buf, 7, "x.hlt", 2), -ENAMETOOLONG);
}

static void finds_the_first_free_number(void **state)
{
	for (uint32_t taken = 0; taken < 300; taken++)
		for (uint32_t from = 1; from < 20; from++) {
			uint32_t first = taken < from ? from : taken + 1;

			assert_int_equal(
				hl_numbered_names_find(from, is_taken_up_to, &taken), first);
		}
}

static void search_is_logarithmic(void **state)
{
	uint32_t taken;

	for (taken = 10; taken < 10000000; taken *= 10) {
		n_calls = 0;
		assert_int_equal(hl_numbered_names_find(1, is_taken_up_to, &taken), taken + 1);
		assert_in_range(n_calls, 1, 50);
	}
	taken = HL_NUMBERED_NAMES_MAX;
	assert_int_equal(
		hl_numbered_names_find(1, is_taken_up_to, &taken), HL_NUMBERED_NAMES_MAX + 1);
}

/* Taken: 1 to 5 and 9 to 40. */
static bool is_taken_with_gap(const void *arg, uint32_t number)
{
	return number <= 5 || (number >= 9 && number <= 40);
}

static void finds_a_free_number_despite_gaps(void **state)
{
	for (uint32_t from = 1; from < 60; from++) {
		uint32_t n = hl_numbered_names_find(from, is_taken_with_gap, NULL);

		assert_true(n >= from);
		assert_false(is_taken_with_gap(NULL, n));
		assert_true(n == from || is_taken_with_gap(NULL, n - 1));
	}
}

static void continues_after_the_last_number(void **state)
{
	struct hl_numbered_names s = {0};

	assert_int_equal(hl_numbered_names_first(&s, "x.hlt"), 1);
	/* Number 1 is tried again: the file may have been removed. */
	hl_numbered_names_set_last(&s, "x.hlt", 1);
	assert_int_equal(hl_numbered_names_first(&s, "x.hlt"), 1);
	for (uint32_t i = 2; i < 3000; i++) {
		char other[32];

		hl_numbered_names_set_last(&s, "x.hlt", i);
		assert_int_equal(hl_numbered_names_first(&s, "x.hlt"), i + 1);
		snprintf(other, sizeof(other), "x.%u.hlt", i);
		assert_int_equal(hl_numbered_names_first(&s, other), 1);
		hl_numbered_names_set_last(&s, other, 2);
		assert_int_equal(hl_numbered_names_first(&s, other), 3);
	}
	assert_int_equal(s.files, 1 + 2 * 2998);
	hl_numbered_names_fini(&s);
}

static void remembers_its_own_paths(void **state)
{
	struct hl_numbered_names s = {0};

	assert_false(hl_numbered_names_has(&s, "x.hlt"));
	assert_int_equal(hl_numbered_names_remember(&s, "x.hlt"), 0);
	assert_true(hl_numbered_names_has(&s, "x.hlt"));
	assert_false(hl_numbered_names_has(&s, "x.2.hlt"));
	hl_numbered_names_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_goes_before_the_suffix),
		cmocka_unit_test(finds_the_first_free_number),
		cmocka_unit_test(search_is_logarithmic),
		cmocka_unit_test(finds_a_free_number_despite_gaps),
		cmocka_unit_test(continues_after_the_last_number),
		cmocka_unit_test(remembers_its_own_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
