/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debian_package_test.c - paths in lists of dpkg.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
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

	assert_null(hl_debian_package_find(HL_DEBIAN_ADMIN_DIR, "/bin/sh", &none));
}

/* --- a made-up system in a directory --- */

static char root[PATH_MAX];

static const char *in_root(const char *path)
{
	static char full[2 * PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	return full;
}

/* Each line begins with the directory. */
static void write_lines(const char *file, const char *const *lines)
{
	FILE *f = fopen(in_root(file), "we");

	assert_non_null(f);
	for (; *lines; lines++)
		fprintf(f, "%s%s\n", **lines == '/' ? root : "", *lines);
	fclose(f);
}

#define WRITE(file, ...) write_lines(file, (const char *const[]){__VA_ARGS__, NULL})

static int make_root(void **state)
{
	char name[] = "/tmp/package-test-XXXXXX";

	if (!mkdtemp(name) || !realpath(name, root) || mkdir(in_root("info"), 0700))
		return -1;
	WRITE("tool", "");
	WRITE("tool.distrib", "");
	WRITE("checker", "");
	WRITE("local", "");
	if (symlink("checker", in_root("server")))
		return -1;
	WRITE("info/server.list", "/server");
	WRITE("info/tools:arch.list", "/checker");
	WRITE("info/a-diverter.list", "/tool");
	WRITE("info/original.list", "/tool");
	WRITE("info/local.list", "/local");
	WRITE("diversions", "/tool", "/tool.distrib", "a-diverter", "/local", "/local.distrib",
		":");
	return 0;
}

static int remove_root(void **state)
{
	static const char *const files[] = {"tool", "tool.distrib", "checker", "local", "server",
		"info/server.list", "info/tools:arch.list", "info/a-diverter.list",
		"info/original.list", "info/local.list", "diversions", "info", ""};

	for (size_t i = 0; i < HL_ARRAY_LEN(files); i++)
		remove(in_root(files[i]));
	return 0;
}

static void check_owner(const char *file, const char *expected)
{
	uint64_t budget = UINT64_C(10000000000);
	char path[2 * PATH_MAX], *found;

	snprintf(path, sizeof(path), "%s", in_root(file));
	found = hl_debian_package_find(root, path, &budget);
	if (strcmp(found ? found : "none", expected) != 0)
		fail_msg("%s: %s", file, found ? found : "none");
	free(found);
}

static void the_owner_of_a_file_is_found(void **state)
{
	check_owner("server", "tools"); /* a link of another package */
	check_owner("checker", "tools");
	check_owner("tool", "a-diverter");
	check_owner("tool.distrib", "original");
	check_owner("local", "none"); /* of the administrator */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(paths_are_found_in_lists),
		cmocka_unit_test(debug_packages_are_named),
		cmocka_unit_test(no_search_without_a_budget),
		cmocka_unit_test_setup_teardown(
			the_owner_of_a_file_is_found, make_root, remove_root)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
