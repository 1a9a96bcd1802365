/* SPDX-License-Identifier: Apache-2.0 */
/* fd_io_test.c - whole ranges, the end of a file, offsets that no file has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/fd_io.h"

static void reads_what_was_written(void **state)
{
	int fd = memfd_create("fd_io", MFD_CLOEXEC);
	char text[8] = "";

	assert_true(fd >= 0);
	assert_int_equal(hl_fd_write_all(fd, "0123", 4), 0);
	assert_int_equal(hl_fd_write_all(fd, "4567", 4), 0);
	assert_int_equal(hl_fd_write_all(fd, "", 0), 0);
	assert_int_equal(hl_fd_read_at(fd, text, 4, 2), 0);
	assert_string_equal(text, "2345");
	close(fd);
}

static void the_end_of_the_file_is_an_error(void **state)
{
	int fd = memfd_create("fd_io", MFD_CLOEXEC);
	char text[8];

	assert_int_equal(hl_fd_write_all(fd, "0123", 4), 0);
	assert_int_equal(hl_fd_read_at(fd, text, 4, 1), -ENODATA);
	assert_int_equal(hl_fd_read_at(fd, text, 1, 1 << 20), -ENODATA);
	assert_int_equal(hl_fd_read_at(fd, text, 0, 1 << 20), 0);
	assert_int_equal(hl_fd_read_at(fd, text, 1, UINT64_MAX), -EINVAL);
	close(fd);
}

static void errors_are_returned(void **state)
{
	int pair[2];
	char byte;

	assert_int_equal(hl_fd_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(hl_fd_read_at(-1, &byte, 1, 0), -EBADF);
	assert_int_equal(pipe2(pair, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(hl_fd_read_at(pair[0], &byte, 1, 0), -ESPIPE);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(the_end_of_the_file_is_an_error),
		cmocka_unit_test(errors_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
