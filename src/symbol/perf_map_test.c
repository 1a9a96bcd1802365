/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_map_test.c - parsing of valid and invalid perf maps, and the check of the file's owner and
 * time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/attr.h"
#include "symbol/perf_map_internal.h"

static void parse(struct hl_perf_map *m, const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	assert_int_equal(hl_perf_map_parse(m, copy, len), 0);
}

static void valid_lines_are_parsed(void **state)
{
	static const char text[] = "7f0000001000 40 LazyCompile:~sum a.js:3\n"
				   "0x7f0000002000 0x10 py::run:/srv/a b.py\r\n"
				   "7f0000001010 8 inner\n"
				   "7f0000003000 10 old\n"
				   "7f0000003000 10 new\n"
				   "\n\nzz 10 no\n10 zz no\n10 10\n10 10 \n 10 10 no\n10 0 no\n"
				   "ffffffffffffffff ffffffffffffffff no\n"
				   "11111111111111111 1 no\n-10 10 no\n"
				   "40 1 last";
	static const struct {
		uint64_t at;
		const char *name;
	} cases[] = {
		{0x7f0000000fff, NULL},
		{0x7f0000001000, "LazyCompile:~sum a.js:3"},
		{0x7f0000001010, "inner"},
		{0x7f0000001018, "LazyCompile:~sum a.js:3"},
		{0x7f000000103f, "LazyCompile:~sum a.js:3"},
		{0x7f0000001040, NULL},
		{0x7f0000002001, "py::run:/srv/a b.py"},
		{0x7f0000003000, "new"},
		{0x10, NULL},
		{0x40, "last"},
		{UINT64_MAX, NULL},
		{0, NULL},
	};
	struct hl_perf_map m = {0};

	parse(&m, text, sizeof(text) - 1);
	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const char *name = hl_perf_map_name(&m, cases[i].at);

		if (!cases[i].name)
			assert_null(name);
		else
			assert_string_equal(name, cases[i].name);
	}
	hl_perf_map_fini(&m);
}

static void malformed_input_is_survived(void **state)
{
	struct hl_perf_map m = {0};
	static char wide[100000];

	parse(&m, "", 0);
	assert_null(hl_perf_map_name(&m, 0));
	hl_perf_map_fini(&m);
	parse(&m, "10 10 a\0b\n20 10 c\n", 18);
	assert_string_equal(hl_perf_map_name(&m, 0x10), "a");
	assert_string_equal(hl_perf_map_name(&m, 0x20), "c");
	hl_perf_map_fini(&m);
	memset(wide, 'x', sizeof(wide));
	memcpy(wide, "10 10 ", 6);
	parse(&m, wide, sizeof(wide));
	assert_true(strlen(hl_perf_map_name(&m, 0x10)) == 1024);
	hl_perf_map_fini(&m);
	for (uint32_t seed = 1; seed < 3000; seed++) {
		static const char letters[] = "0123456789abcdefx \n\r\t-";
		char noise[64];
		uint32_t x = seed * 2654435761u;

		for (size_t i = 0; i < sizeof(noise); i++) {
			x = x * 1664525 + 1013904223;
			noise[i] = letters[(x >> 16) % (sizeof(letters) - 1)];
		}
		parse(&m, noise, sizeof(noise));
		hl_perf_map_name(&m, x);
		hl_perf_map_fini(&m);
	}
}

static void foreign_files_are_rejected(void **state)
{
	char root[] = "/tmp/hl-perf-XXXXXX", dir[64], path[96], other[96];
	uint64_t now = (uint64_t)time(NULL) * 1000000000;
	struct hl_perf_map m = {0};
	FILE *f;

	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/tmp", root);
	snprintf(path, sizeof(path), "%s/perf-42.map", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(hl_perf_map_load(&m, root, 42, 0), -ENOENT);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("10 10 here\n", f);
	fclose(f);
	assert_int_equal(hl_perf_map_load(&m, root, 42, now - 5000000000), 0);
	assert_string_equal(hl_perf_map_name(&m, 0x10), "here");
	hl_perf_map_fini(&m);
	assert_int_equal(hl_perf_map_load(&m, root, 42, now + 60000000000), -ENOENT);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(hl_perf_map_load(&m, root, 42, 0), -ENOENT);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(hl_perf_map_load(&m, root, 42, 0), -ENOENT);
	unlink(path);
	unlink(other);
	rmdir(dir);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(valid_lines_are_parsed),
		cmocka_unit_test(malformed_input_is_survived),
		cmocka_unit_test(foreign_files_are_rejected)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
