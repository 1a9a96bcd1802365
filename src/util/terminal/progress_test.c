/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_test.c - the bar on a pseudo-terminal: it appears late, is updated rarely and is erased
 * at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/terminal/progress.h"
#include "util/work/work.h"

static int screen;
static struct hl_work work = {.progress = hl_progress_show};
static char seen[4096];

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/*
 * Returns the output since the last call, until no more arrives for 20 ms. The kernel delivers
 * terminal output with a delay, so a caller that expects output gives a longer `ms` to wait for the
 * first byte.
 */
static const char *read_screen_within(int ms)
{
	struct pollfd p = {.fd = screen, .events = POLLIN};
	size_t len = 0;

	for (; len < sizeof(seen) - 1 && poll(&p, 1, ms) > 0; ms = 20) {
		ssize_t n = read(screen, seen + len, sizeof(seen) - 1 - len);

		len += n > 0 ? (size_t)n : 0;
	}
	seen[len] = 0;
	return seen;
}

static const char *read_screen(void)
{
	return read_screen_within(20);
}

static const char *wait_for_output(void)
{
	return read_screen_within(5000);
}

static int set_up(void **state)
{
	int slave;

	if (openpty(&screen, &slave, NULL, NULL, NULL) < 0)
		return -1;
	fcntl(screen, F_SETFL, O_NONBLOCK);
	dup2(slave, 2);
	setenv("TERM", "xterm", 1);
	unsetenv("CI");
	unsetenv("COLUMNS");
	return 0;
}

static void bar_appears_after_half_a_second_and_is_erased(void **state)
{
	hl_work_begin(&work, HL_WORK_SHORT, "working");
	hl_work_tick(&work, 1, 100);
	sleep_ms(600);
	hl_work_tick(&work, 1, 100);
	hl_work_end(&work, HL_WORK_SHORT);
	assert_string_equal(read_screen(), ""); /* hl_progress_enable() was not called */

	hl_progress_enable();
	hl_work_begin(&work, HL_WORK_SHORT, "working");
	hl_work_tick(&work, 10, 100);
	assert_string_equal(read_screen(), "");
	sleep_ms(550);
	hl_work_tick(&work, 50, 100);
	assert_non_null(strstr(wait_for_output(), "working [###############...............]  50%"));
	hl_work_begin(&work, HL_WORK_SHORT, "inside");
	hl_work_tick(&work, 1, 2);
	hl_work_end(&work, HL_WORK_SHORT);
	hl_work_tick(&work, 51, 100);
	assert_string_equal(read_screen(), ""); /* less than 100 ms after the last update */
	sleep_ms(120);
	hl_work_tick(&work, 200, 100);
	assert_non_null(strstr(wait_for_output(), "100%"));
	hl_work_end(&work, HL_WORK_SHORT);
	assert_string_equal(wait_for_output(), "\r\033[K");
}

/* Runs a child that draws the bar and raises sig, with the given handler if not NULL. Returns the
 * wait status. */
static int run_and_signal(int sig, void (*handler)(int))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (handler)
			signal(sig, handler);
		hl_work_begin(&work, HL_WORK_SHORT, "working");
		sleep_ms(550);
		hl_work_tick(&work, 1, 2);
		raise(sig);
		hl_work_end(&work, HL_WORK_SHORT);
		raise(sig);
		_exit(3);
	}
	waitpid(child, &status, 0);
	return status;
}

static void exit_4(int sig)
{
	_exit(4);
}

static void bar_is_erased_on_a_fatal_signal(void **state)
{
	int status = run_and_signal(SIGINT, NULL);
	const char *out = wait_for_output();

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	assert_non_null(strstr(out, "50%"));
	assert_string_equal(out + strlen(out) - 4, "\r\033[K");
	status = run_and_signal(SIGTERM, exit_4);
	out = wait_for_output();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	assert_string_not_equal(out + strlen(out) - 4, "\r\033[K");
	status = run_and_signal(SIGINT, SIG_IGN);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	wait_for_output();

	/* The default actions are restored when the bar is erased. */
	hl_work_begin(&work, HL_WORK_SHORT, "working");
	sleep_ms(550);
	hl_work_tick(&work, 1, 2);
	hl_work_end(&work, HL_WORK_SHORT);
	wait_for_output();
	assert_ptr_equal(signal(SIGINT, SIG_DFL), SIG_DFL);
}

static void bar_is_off_in_ci_and_after_never(void **state)
{
	setenv("CI", "true", 1);
	hl_progress_enable();
	hl_work_begin(&work, HL_WORK_SHORT, "working");
	sleep_ms(550);
	hl_work_tick(&work, 1, 2);
	hl_work_end(&work, HL_WORK_SHORT);
	assert_string_equal(read_screen(), "");
	unsetenv("CI");
	hl_progress_enable();
	hl_progress_disable();
	hl_work_begin(&work, HL_WORK_SHORT, "working");
	sleep_ms(550);
	hl_work_tick(&work, 1, 2);
	hl_work_end(&work, HL_WORK_SHORT);
	assert_string_equal(read_screen(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bar_appears_after_half_a_second_and_is_erased),
		cmocka_unit_test(bar_is_erased_on_a_fatal_signal),
		cmocka_unit_test(bar_is_off_in_ci_and_after_never),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
