/* SPDX-License-Identifier: Apache-2.0 */
/* wait_set_test.c - what ends a sleep, and sets that lack a descriptor. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/wait_set.h"

#define MS 1000000u

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void kinds_that_are_ready_are_returned(void **state)
{
	struct hl_wait_set s;
	int a[2], b[2], c[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, a), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, b), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, c), 0);
	hl_wait_set_init(&s);
	hl_wait_set_add(&s, a[0], HL_WAIT_CONTROL);
	hl_wait_set_add(&s, b[0], HL_WAIT_CTL);
	hl_wait_set_add(&s, c[0], HL_WAIT_CTL_CLIENT);
	assert_false(s.incomplete);
	assert_int_equal(hl_wait_set_wait(&s, 0), 0);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(hl_wait_set_wait(&s, 0), HL_WAIT_CONTROL);
	close(b[1]); /* the end of a connection is reported too */
	assert_int_equal(hl_wait_set_wait(&s, 500 * MS), HL_WAIT_CONTROL | HL_WAIT_CTL);
	/* A descriptor that was not read stays ready; one that was removed does not. */
	assert_int_equal(hl_wait_set_wait(&s, 0), HL_WAIT_CONTROL | HL_WAIT_CTL);
	hl_wait_set_remove(&s, a[0]);
	hl_wait_set_remove(&s, b[0]);
	assert_int_equal(hl_wait_set_wait(&s, 0), 0);
	hl_wait_set_fini(&s);
	close(a[0]), close(a[1]), close(b[0]), close(c[0]), close(c[1]);
}

static void death_of_a_process_ends_the_sleep(void **state)
{
	struct hl_wait_set s;
	pid_t pid = fork();
	int fd;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		skip();
	hl_wait_set_init(&s);
	hl_wait_set_add(&s, fd, HL_WAIT_PROCESS);
	assert_int_equal(hl_wait_set_wait(&s, 0), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(hl_wait_set_wait(&s, 500 * MS), HL_WAIT_PROCESS);
	hl_wait_set_fini(&s);
	close(fd);
}

static void sleep_has_at_least_its_length(void **state)
{
	struct hl_wait_set s;
	uint64_t start;

	hl_wait_set_init(&s);
	start = now_ns();
	assert_int_equal(hl_wait_set_wait(&s, 300000), 0);
	assert_true(now_ns() - start >= 300000);
	hl_wait_set_fini(&s);
}

static void set_without_a_descriptor_is_incomplete_and_sleeps(void **state)
{
	struct hl_wait_set s = {.epoll_fd = -1, .incomplete = true}, closed;
	uint64_t start = now_ns();

	assert_int_equal(hl_wait_set_wait(&s, 300000), 0);
	assert_true(now_ns() - start >= 300000);
	hl_wait_set_add(&s, 0, HL_WAIT_CONTROL);
	hl_wait_set_remove(&s, 0);
	hl_wait_set_fini(&s);

	hl_wait_set_init(&closed);
	hl_wait_set_add(&closed, 1 << 20, HL_WAIT_CONTROL); /* cannot be added */
	assert_true(closed.incomplete);
	hl_wait_set_fini(&closed);

	hl_wait_set_init(&closed);
	hl_wait_set_add(&closed, -1, HL_WAIT_CONTROL); /* there is none */
	hl_wait_set_remove(&closed, -1);
	assert_false(closed.incomplete);
	hl_wait_set_fini(&closed);
	hl_wait_set_add(NULL, 0, HL_WAIT_CONTROL);
	hl_wait_set_remove(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_that_are_ready_are_returned),
		cmocka_unit_test(death_of_a_process_ends_the_sleep),
		cmocka_unit_test(sleep_has_at_least_its_length),
		cmocka_unit_test(set_without_a_descriptor_is_incomplete_and_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
