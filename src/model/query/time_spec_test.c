/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_spec_test.c - parsing of time specs.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/query/time_spec.h"

static void times_are_parsed_exactly(void **state)
{
	static const struct {
		const char *text;
		int ok, kind;
		uint64_t ns;
	} cases[] = {
		{"0", 1, HL_TIME_SPEC_NS, 0},
		{"0.0", 1, HL_TIME_SPEC_NS, 0},
		{"12345ns", 1, HL_TIME_SPEC_NS, 12345},
		{"12345", 0, 0, 0}, /* no unit */
		{"5", 0, 0, 0},
		{"0.5", 0, 0, 0},
		{"12.5s", 1, HL_TIME_SPEC_NS, 12500000000},
		{"12.3s", 1, HL_TIME_SPEC_NS, 12300000000}, /* not 12299999999 */
		{".5s", 1, HL_TIME_SPEC_NS, 500000000},
		{"5.s", 1, HL_TIME_SPEC_NS, 5000000000},
		{"300ms", 1, HL_TIME_SPEC_NS, 300000000},
		{"1.5us", 1, HL_TIME_SPEC_NS, 1500},
		{"7ns", 1, HL_TIME_SPEC_NS, 7},
		{"2min", 1, HL_TIME_SPEC_NS, 120000000000},
		{"1h", 1, HL_TIME_SPEC_NS, 3600000000000},
		{"18446744073709551615ns", 1, HL_TIME_SPEC_NS, UINT64_MAX},
		{"0.0000000001234567890123456789s", 1, HL_TIME_SPEC_NS, 0},
		{"@peak", 1, HL_TIME_SPEC_PEAK, 0},
		{"@end", 1, HL_TIME_SPEC_END, 0},
		{"50%", 1, HL_TIME_SPEC_PERCENT, 0},
		{"100%", 1, HL_TIME_SPEC_PERCENT, 0},
		{"101%", 0, 0, 0},
		{"18446744073709551616ns", 0, 0, 0},
		{"18446744073709551615s", 0, 0, 0},
		{"", 0, 0, 0},
		{".", 0, 0, 0},
		{"-1s", 0, 0, 0},
		{"1.2.3s", 0, 0, 0},
		{"5 s", 0, 0, 0},
		{"s", 0, 0, 0},
		{"1e9", 0, 0, 0},
		{"@Peak", 0, 0, 0},
		{"1sx", 0, 0, 0},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_time_spec w;
		int err = hl_time_spec_parse(cases[i].text, strlen(cases[i].text), &w);

		if ((err == 0) != cases[i].ok)
			fail_msg("\"%s\" gave %d", cases[i].text, err);
		if (err)
			continue;
		assert_int_equal(w.kind, cases[i].kind);
		assert_int_equal(w.ns, cases[i].ns);
	}
}

static void ranges_may_have_quoted_marks(void **state)
{
	static const char text[] = "@mark:\"a..b\"..@mark:\"c..d\"";
	struct hl_time_spec from, to;
	size_t at;

	assert_int_equal(hl_time_spec_parse_range(text, sizeof(text) - 1, &from, &to, &at), 0);
	assert_string_equal(from.mark, "a..b");
	assert_string_equal(to.mark, "c..d");
	assert_int_equal(hl_time_spec_parse_range("@mark:a..1s", 11, &from, &to, &at), 0);
	assert_string_equal(from.mark, "a");
	assert_int_equal(hl_time_spec_parse_range("@mark:\"a..1s", 12, &from, &to, &at), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(times_are_parsed_exactly),
		cmocka_unit_test(ranges_may_have_quoted_marks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
