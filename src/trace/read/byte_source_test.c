/* SPDX-License-Identifier: Apache-2.0 */
/* byte_source_test.c - a file that grows, shrinks or is locked, and a trace that is read from
 * memory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/read/reader.h"
#include "trace/write/writer.h"
#include "util/fd_io.h"

struct file {
	int fd;
	char path[64];
};

static struct file make_file(const char *text)
{
	struct file f = {.fd = memfd_create("source", MFD_CLOEXEC)};

	assert_true(f.fd >= 0);
	assert_int_equal(hl_fd_write_all(f.fd, text, strlen(text)), 0);
	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
	return f;
}

static void size_changes_only_by_refresh(void **state)
{
	struct file f = make_file("abcdef");
	struct hl_reader_refusal why;
	struct hl_byte_source *s;
	char text[8] = "";

	assert_int_equal(hl_byte_source_open(&s, f.path, &why), 0);
	assert_int_equal(s->bytes, 6);
	assert_int_equal(s->data_bytes, 6);
	assert_int_equal(hl_byte_source_read(s, text, 3, 2), 0);
	assert_string_equal(text, "cde");
	assert_int_equal(hl_fd_write_all(f.fd, "gh", 2), 0);
	assert_int_equal(s->bytes, 6);
	assert_int_equal(hl_byte_source_refresh(s), 0);
	assert_int_equal(s->bytes, 8);
	assert_int_equal(ftruncate(f.fd, 4), 0);
	assert_int_equal(hl_byte_source_read(s, text, 3, 2), -ENODATA);
	hl_byte_source_close(s);
	close(f.fd);
}

static void locked_file_is_growing(void **state)
{
	struct file f = make_file("abc");
	struct hl_reader_refusal why;
	struct hl_byte_source *s;

	assert_int_equal(flock(f.fd, LOCK_EX), 0);
	assert_int_equal(hl_byte_source_open(&s, f.path, &why), 0);
	assert_true(s->growing);
	assert_int_equal(flock(f.fd, LOCK_UN), 0);
	assert_int_equal(hl_byte_source_refresh(s), 0);
	assert_false(s->growing);
	hl_byte_source_close(s);
	close(f.fd);
}

static void holes_are_skipped_and_not_counted(void **state)
{
	struct file f = make_file("abc");
	struct hl_reader_refusal why;
	struct hl_byte_source *s;

	assert_int_equal(pwrite(f.fd, "z", 1, 1 << 20), 1);
	assert_int_equal(hl_byte_source_open(&s, f.path, &why), 0);
	assert_int_equal(s->bytes, (1 << 20) + 1);
	assert_true(s->data_bytes < 1 << 20);
	assert_int_equal(hl_byte_source_skip_hole(s, 1), 1);
	assert_int_equal(hl_byte_source_skip_hole(s, 1 << 16), 1 << 20);
	hl_byte_source_close(s);
	close(f.fd);
}

static void other_files_are_refused(void **state)
{
	struct file empty = make_file("");
	const struct {
		const char *path, *words;
		int err;
	} rows[] = {
		{"/nonexistent/x.hlt", "/nonexistent/x.hlt does not exist", -ENOENT},
		{"/proc/self/fd", "/proc/self/fd is a directory", -EISDIR},
		{"/dev/null", "/dev/null is not a regular file", -ESPIPE},
		{empty.path, "is empty", -ENODATA},
	};
	struct hl_reader_refusal why;
	struct hl_byte_source *s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(hl_byte_source_open(&s, rows[i].path, &why), rows[i].err);
		assert_non_null(strstr(why.text, rows[i].words));
	}
	close(empty.fd);
}

static void make_trace(int fd)
{
	const struct hl_meta meta = {.program = "p",
		.command = "",
		.arch = "",
		.clock = "",
		.mode = "trace",
		.allocator = ""};
	struct hl_writer *w;

	assert_int_equal(hl_writer_open(&w, dup(fd), &meta), 0);
	assert_int_equal(hl_writer_end(w, &(struct hl_end){.kind = HL_END_EXIT, .value = 3},
				 &(struct hl_counters){0}),
		0);
	hl_writer_close(w);
}

static void trace_is_read_from_memory(void **state)
{
	struct file f = make_file("");
	const struct hl_trace_info *info;
	struct hl_reader_refusal why;
	struct hl_byte_source *s;
	struct hl_reader *r;
	struct stat st;
	void *bytes;

	make_trace(f.fd);
	assert_int_equal(fstat(f.fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(hl_fd_read_at(f.fd, bytes, (size_t)st.st_size, 0), 0);
	close(f.fd);
	assert_int_equal(hl_byte_source_from_memory(&s, bytes, (size_t)st.st_size), 0);
	assert_int_equal(hl_reader_open_source(&r, s, "memory", &why), 0);
	assert_int_equal(hl_reader_verify(r, NULL), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_false(info->damaged);
	assert_int_equal(info->end.value, 3);
	hl_reader_close(r);
	assert_int_equal(hl_byte_source_from_memory(&s, bytes, 10), 0);
	assert_int_equal(hl_reader_open_source(&r, s, "memory", &why), -EBADMSG);
	assert_non_null(strstr(why.text, "memory ends before its first chunk"));
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_changes_only_by_refresh),
		cmocka_unit_test(locked_file_is_growing),
		cmocka_unit_test(holes_are_skipped_and_not_counted),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(trace_is_read_from_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
