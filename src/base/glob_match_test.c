/* SPDX-License-Identifier: Apache-2.0 */
/* glob_match_test.c - patterns of program names match like those of the shell. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fnmatch.h>
#include <string.h>

#include "base/attr.h"
#include "base/glob_match.h"

static bool matches(const char *pattern, const char *name)
{
	return hl_glob_match(pattern, pattern + strlen(pattern), name);
}

static void equals_fnmatch(void **state)
{
	static const char *const patterns[] = {"", "*", "**", "?", "cc1", "cc*", "*1", "c?1",
		"*c*1*", "[ab]x", "[!ab]x", "[a-c]?", "[a-c", "[]a]", "[!]a]", "[a-]", "a[b",
		"python3*", "python3.[0-9]*", "*.so.[0-9]", "x[", "?*?", "a*b*c*d"};
	static const char *const names[] = {"", "c", "cc1", "cc1plus", "c-1", "ax", "cx", "a", "]",
		"-", "a[b", "[a-c", "x[", "python3", "python3.11", "python3.x", "libm.so.6", "abcd",
		"aXbYcZd", "\xff", "aaaaaaaaaaaaaaaaaaaaaaaab"};

	for (size_t i = 0; i < HL_ARRAY_LEN(patterns); i++)
		for (size_t k = 0; k < HL_ARRAY_LEN(names); k++)
			if (matches(patterns[i], names[k]) !=
				(fnmatch(patterns[i], names[k], FNM_NOESCAPE) == 0))
				fail_msg("%s against %s", patterns[i], names[k]);
}

static void lists(void **state)
{
	assert_true(hl_glob_list_match("cc1", "cc1"));
	assert_true(hl_glob_list_match("as,cc*", "cc1plus"));
	assert_true(hl_glob_list_match(",,ld", "ld"));
	assert_false(hl_glob_list_match("", "x"));
	assert_false(hl_glob_list_match(",", ""));
	assert_false(hl_glob_list_match("cc1,as", "cc1,as"));
	assert_false(hl_glob_list_match("cc1", "cc"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_fnmatch),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
