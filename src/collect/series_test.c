/* series_test.c - numbers of traces that share a name: free ones, found in few looks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "collect/series.h"

static unsigned looks;

/* Numbers up to *arg are taken. */
static bool below(const void *arg, uint32_t number)
{
	looks++;
	return number <= *(const uint32_t *)arg;
}

static void names_have_numbers(void **state)
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
			hl_series_name(buf, sizeof(buf), cases[i].name, cases[i].number), 0);
		assert_string_equal(buf, cases[i].out);
	}
	assert_int_equal(hl_series_name(buf, 5, "x.hlt", 1), -ENAMETOOLONG);
	assert_int_equal(hl_series_name(buf, 7, "x.hlt", 2), -ENAMETOOLONG);
}

static void finds_the_first_free(void **state)
{
	for (uint32_t taken = 0; taken < 300; taken++)
		for (uint32_t from = 1; from < 20; from++) {
			uint32_t first = taken < from ? from : taken + 1;

			assert_int_equal(hl_series_find(from, below, &taken), first);
		}
}

static void takes_few_looks(void **state)
{
	uint32_t taken;

	for (taken = 10; taken < 10000000; taken *= 10) {
		looks = 0;
		assert_int_equal(hl_series_find(1, below, &taken), taken + 1);
		assert_in_range(looks, 1, 50);
	}
	taken = HL_SERIES_MAX;
	assert_int_equal(hl_series_find(1, below, &taken), HL_SERIES_MAX + 1);
}

/* Taken: 1 to 5 and 9 to 40. */
static bool with_gap(const void *arg, uint32_t number)
{
	return number <= 5 || (number >= 9 && number <= 40);
}

static void a_gap_is_free(void **state)
{
	for (uint32_t from = 1; from < 60; from++) {
		uint32_t n = hl_series_find(from, with_gap, NULL);

		assert_true(n >= from);
		assert_false(with_gap(NULL, n));
		assert_true(n == from || with_gap(NULL, n - 1));
	}
}

static void goes_on_from_the_last(void **state)
{
	struct hl_series s = {0};

	assert_int_equal(hl_series_first(&s, "x.hlt"), 1);
	hl_series_took(&s, "x.hlt", 1); /* the next asks the folder: it may have gone */
	assert_int_equal(hl_series_first(&s, "x.hlt"), 1);
	for (uint32_t i = 2; i < 3000; i++) {
		char other[32];

		hl_series_took(&s, "x.hlt", i);
		assert_int_equal(hl_series_first(&s, "x.hlt"), i + 1);
		snprintf(other, sizeof(other), "x.%u.hlt", i);
		assert_int_equal(hl_series_first(&s, other), 1);
		hl_series_took(&s, other, 2);
		assert_int_equal(hl_series_first(&s, other), 3);
	}
	assert_int_equal(s.files, 1 + 2 * 2998);
	hl_series_fini(&s);
}

static void knows_its_own(void **state)
{
	struct hl_series s = {0};

	assert_false(hl_series_has(&s, "x.hlt"));
	assert_int_equal(hl_series_keep(&s, "x.hlt"), 0);
	assert_true(hl_series_has(&s, "x.hlt"));
	assert_false(hl_series_has(&s, "x.2.hlt"));
	hl_series_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_numbers),
		cmocka_unit_test(finds_the_first_free),
		cmocka_unit_test(takes_few_looks),
		cmocka_unit_test(a_gap_is_free),
		cmocka_unit_test(goes_on_from_the_last),
		cmocka_unit_test(knows_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
