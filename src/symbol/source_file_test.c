/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_file_test.c - which source files are found, and which are not read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol/source_file.h"

static char dir[] = "/tmp/source_file_test.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][4096];
	static unsigned next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[0]), "%s/%s", dir, name);
	return path[next];
}

static void write_file(const char *name, const char *text, size_t len)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
	static const char *const dirs[] = {"root", "root/app-1.0", "root/app-1.0/src", "other"};

	if (!mkdtemp(dir))
		return -1;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (mkdir(in_dir(dirs[i]), 0700))
			return -1;
	}
	write_file("root/app-1.0/src/a.c", "one\ntwo\r\nthree", 14);
	write_file("root/b.c", "b\n", 2);
	write_file("root/binary.c", "a\0b\n", 4);
	write_file("root/empty.c", "", 0);
	write_file("other/secret", "secret\n", 7);
	write_file("root/large.c", "x", 1);
	if (truncate(in_dir("root/large.c"), (off_t)HL_SOURCE_BYTES_MAX + 1))
		return -1;
	return symlink("../other/secret", in_dir("root/link.c")) ||
	       symlink("b.c", in_dir("root/inner.c")) || mkfifo(in_dir("root/fifo.c"), 0600);
}

static int remove_files(void **state)
{
	char command[4096];

	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

/* path NULL: it is not read, and the problem has this word. */
static void expect(const char *root, const char *file, const char *path, const char *problem)
{
	struct hl_source_places places = {.roots = &root, .n_roots = root != NULL};
	struct hl_source_text t;

	assert_int_equal(hl_source_text_read(&t, &places, file, 0), 0);
	if (path) {
		if (!t.path)
			fail_msg("%s, %s: %s", root, file, t.problem);
		assert_string_equal(t.path, in_dir(path));
	} else {
		if (t.path)
			fail_msg("%s, %s: reads %s", root, file, t.path);
		if (!strstr(t.problem, problem))
			fail_msg("%s, %s: %s", root, file, t.problem);
	}
	hl_source_text_fini(&t);
}

static void test_places(void **state)
{
	char map[4096], other[4096];

	snprintf(map, sizeof(map), "/build/app=%s", in_dir("root/app-1.0"));
	expect(map, "/build/app/src/a.c", "root/app-1.0/src/a.c", NULL);
	expect(map, "/build/app2/src/a.c", NULL, "--source-root /build/app2/src=DIR");
	expect(map, "/build/app", NULL, "--source-root /build=DIR");
	snprintf(map, sizeof(map), "/build/app/=%s", in_dir("root/app-1.0"));
	expect(map, "/build/app/src/a.c", "root/app-1.0/src/a.c", NULL);
	snprintf(other, sizeof(other), "%s", in_dir("root"));
	expect(other, "/build/app-1.0/src/a.c", "root/app-1.0/src/a.c", NULL);
	expect(other, "app-1.0/src/a.c", "root/app-1.0/src/a.c", NULL);
	expect(other, "/far/away/b.c", "root/b.c", NULL);
	expect(other, "/far/away/c.c", NULL, "--source-root /far/away=DIR");
	expect(other, "relative.c", NULL, "--source-root DIR");
	expect(other, "/far/inner.c", "root/inner.c", NULL);
	expect(NULL, in_dir("root/b.c"), "root/b.c", NULL);
	expect(NULL, "root/b.c", NULL, "--source-root root=DIR");
}

static void test_refused(void **state)
{
	const char *root = in_dir("root");
	char path[4096];

	snprintf(path, sizeof(path), "%s", root);
	root = path;
	expect(root, "/x/link.c", NULL, "lead out");
	expect(root, "/x/../other/secret", NULL, "lead out");
	expect(root, "/../other/secret", NULL, "lead out");
	expect(root, "/x/fifo.c", NULL, "--source-root");
	expect(root, "/x/app-1.0", NULL, "--source-root");
	expect(root, "/x/binary.c", NULL, "not a text");
	expect(root, "/x/large.c", NULL, "larger than 8 MiB");
	expect(root, "/", NULL, "--source-root");
	expect(root, "", NULL, "--source-root");
	expect(NULL, "/proc/self/environ", NULL, "kernel");
	expect(NULL, "/proc/self/root/etc/passwd/../passwd", NULL, "");
	expect(NULL, "/dev/zero", NULL, "--source-root");
	expect("/", "/proc/self/status", NULL, "kernel");
}

static void test_only_roots(void **state)
{
	struct hl_source_places places = {.only_roots = true};
	struct hl_source_text t;

	assert_int_equal(hl_source_text_read(&t, &places, in_dir("root/b.c"), 0), 0);
	assert_null(t.path);
	hl_source_text_fini(&t);
	places.sysroot = dir;
	assert_int_equal(hl_source_text_read(&t, &places, "/root/b.c", 1), 0);
	assert_non_null(t.path);
	assert_true(t.changed); /* since 1970 */
	hl_source_text_fini(&t);
	assert_int_equal(hl_source_text_read(&t, &places, "/root/link.c", 1), 0);
	assert_non_null(t.path); /* below the sysroot */
	hl_source_text_fini(&t);
}

static void test_lines(void **state)
{
	static const char *const lines[] = {"one", "two", "three"};
	struct hl_source_places places = {0};
	struct hl_source_text t;
	size_t len;

	assert_int_equal(hl_source_text_read(&t, &places, in_dir("root/app-1.0/src/a.c"), 0), 0);
	assert_int_equal(hl_source_text_n_lines(&t), 3);
	for (size_t i = 0; i < 3; i++) {
		const char *line = hl_source_text_line(&t, i + 1, &len);

		assert_int_equal(len, strlen(lines[i]));
		assert_memory_equal(line, lines[i], len);
	}
	assert_null(hl_source_text_line(&t, 0, &len));
	assert_null(hl_source_text_line(&t, 4, &len));
	hl_source_text_fini(&t);
	assert_int_equal(hl_source_text_read(&t, &places, in_dir("root/empty.c"), 0), 0);
	assert_non_null(t.path);
	assert_int_equal(hl_source_text_n_lines(&t), 0);
	hl_source_text_fini(&t);
	assert_int_equal(hl_source_text_read(&t, &places, in_dir("root/b.c"), 0), 0);
	assert_int_equal(hl_source_text_n_lines(&t), 1);
	hl_source_text_fini(&t);
}

static void test_roots(void **state)
{
	assert_true(hl_source_root_is_valid("/"));
	assert_true(hl_source_root_is_valid("/old=/"));
	assert_false(hl_source_root_is_valid("/old="));
	assert_false(hl_source_root_is_valid("=/"));
	assert_false(hl_source_root_is_valid(""));
	assert_false(hl_source_root_is_valid("/nothing/of/this/name"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_only_roots),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_roots),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
