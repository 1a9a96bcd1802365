/*
 * package_test.c - paths in lists of dpkg.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "symbol/package_internal.h"

static void lists(void **state)
{
	static const char list[] = "/.\n/usr\n/usr/lib\n/usr/lib/x/libgmp.so.10.4.1\n"
				   "/lib/x/libc.so.6\n/usr/share/doc/libgmp10\n/usr/bin/as";
	static const struct {
		const char *path;
		bool there;
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
		if (hl_package_lists(list, sizeof(list) - 1, cases[i].path) != cases[i].there)
			fail_msg("%s", cases[i].path);
	}
	assert_false(hl_package_lists("", 0, "/usr/bin/as"));
}

static void names(void **state)
{
	char *a = hl_package_debug("libgmp10"), *b = hl_package_debug("libc6");

	assert_string_equal(a, "libgmp10-dbgsym");
	assert_string_equal(b, "libc6-dbg");
	free(a);
	free(b);
}

static void budget(void **state)
{
	uint64_t none = 0;

	assert_null(hl_package_find("/bin/sh", &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists), cmocka_unit_test(names), cmocka_unit_test(budget)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
