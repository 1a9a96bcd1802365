/*
 * path_test.c - whole paths from folders and names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "base/path.h"

static void joins(void **state)
{
	static const struct {
		const char *folder, *name, *whole;
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
		size_t len = strlen(cases[i].folder), n = strlen(cases[i].whole);
		char buf[64];

		strcpy(buf, cases[i].folder);
		assert_int_equal(hl_path_join(buf, sizeof(buf), len, cases[i].name), n);
		assert_string_equal(buf, cases[i].whole);
		/* Just room enough, and one byte less. */
		if (len > n)
			continue;
		strcpy(buf, cases[i].folder);
		assert_int_equal(hl_path_join(buf, n + 1, len, cases[i].name), n);
		assert_int_equal(buf[n], 0);
		strcpy(buf, cases[i].folder);
		assert_int_equal(hl_path_join(buf, n, len, cases[i].name), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(joins)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
