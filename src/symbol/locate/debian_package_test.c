/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debian_package_test.c - paths in lists of dpkg.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "symbol/locate/debian_package_internal.h"

static void paths_are_found_in_lists(void **state)
{
	static const char list[] = "/.\n/usr\n/usr/lib\n/usr/lib/x/libgmp.so.10.4.1\n"
				   "/lib/x/libc.so.6\n/usr/share/doc/libgmp10\n/usr/bin/as";
	static const struct {
		const char *path;
		bool expected;
	} cases[] = {
		{"/usr/lib/x/libgmp.so.10.4.1", true},
		{"/lib/x/libgmp.so.10.4.1", true},
		{"/usr/lib/x/libc.so.6", true},
		{"/lib/x/libc.so.6", true},
		{"/usr/bin/as", true},
		{"/bin/as", true},
		{"/usr/lib/x/libgmp.so.10", false},
		{"/usr/lib/y/libgmp.so.10.4.1", false},
		{"/x/libc.so.6", false},
		{"/", false},
		{"", false},
		{"as", false},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		if (hl_debian_package_contains(list, sizeof(list) - 1, cases[i].path) !=
			cases[i].expected)
			fail_msg("%s", cases[i].path);
	}
	assert_false(hl_debian_package_contains("", 0, "/usr/bin/as"));
}

static void debug_packages_are_named(void **state)
{
	char *a = hl_debian_package_debug("libgmp10"), *b = hl_debian_package_debug("libc6");

	assert_string_equal(a, "libgmp10-dbgsym");
	assert_string_equal(b, "libc6-dbg");
	free(a);
	free(b);
}

static void no_search_without_a_budget(void **state)
{
	uint64_t none = 0;

	assert_null(hl_debian_package_find("/bin/sh", &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(paths_are_found_in_lists),
		cmocka_unit_test(debug_packages_are_named),
		cmocka_unit_test(no_search_without_a_budget)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
