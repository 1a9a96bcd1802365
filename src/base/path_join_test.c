/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_join_test.c - absolute paths from directories and names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "base/path_join.h"

static void joins_directory_and_name(void **state)
{
	static const struct {
		const char *dir, *name, *want;
	} cases[] = {
		{"/a/b", "./x.so", "/a/b/x.so"},
		{"/a/b", "x.so", "/a/b/x.so"},
		{"/a/b", "././/lib/./x.so", "/a/b/lib/x.so"},
		{"/a/b", "../x.so", "/a/x.so"},
		{"/a/b", "./../../../x.so", "/x.so"},
		{"/a/b", "lib/../x.so", "/a/b/lib/../x.so"},
		{"/a/b", ".x/..so", "/a/b/.x/..so"},
		{"/", "x.so", "/x.so"},
		{"", "/a/./b//x.so", "/a/b/x.so"},
		{"", "/a/../x.so", "/a/../x.so"},
		{"", "/memfd:x (deleted)", "/memfd:x (deleted)"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		size_t len = strlen(cases[i].dir), n = strlen(cases[i].want);
		char buf[64];

		strcpy(buf, cases[i].dir);
		assert_int_equal(hl_path_join(buf, sizeof(buf), len, cases[i].name), n);
		assert_string_equal(buf, cases[i].want);
		/* A buffer of exactly the needed size, and one byte less. */
		if (len > n)
			continue;
		strcpy(buf, cases[i].dir);
		assert_int_equal(hl_path_join(buf, n + 1, len, cases[i].name), n);
		assert_int_equal(buf[n], 0);
		strcpy(buf, cases[i].dir);
		assert_int_equal(hl_path_join(buf, n, len, cases[i].name), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(joins_directory_and_name)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
