/* progress_test.c - the bar at a terminal: not at once, not too often, and gone at the end. */
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

#include "util/progress.h"

static int screen;
static char seen[4096];

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* What has come to the terminal since the last look, until nothing more comes. The kernel hands it
 * on in its own time: where something must come, it is waited for. */
static const char *look_within(int ms)
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

static const char *look(void)
{
	return look_within(20);
}

static const char *wait_for_it(void)
{
	return look_within(5000);
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

static void test_bar(void **state)
{
	hl_progress_begin("working");
	hl_progress_tick(1, 100);
	nap_ms(600);
	hl_progress_tick(1, 100);
	hl_progress_end();
	assert_string_equal(look(), ""); /* nobody allowed it */

	hl_progress_allow();
	hl_progress_begin("working");
	hl_progress_tick(10, 100);
	assert_string_equal(look(), "");
	nap_ms(550);
	hl_progress_tick(50, 100);
	assert_non_null(strstr(wait_for_it(), "working [###############...............]  50%"));
	hl_progress_begin("inside");
	hl_progress_tick(1, 2);
	hl_progress_end();
	hl_progress_tick(51, 100);
	assert_string_equal(look(), ""); /* too soon */
	nap_ms(120);
	hl_progress_tick(200, 100);
	assert_non_null(strstr(wait_for_it(), "100%"));
	hl_progress_end();
	assert_string_equal(wait_for_it(), "\r\033[K");
}

/* Ended by a signal, or by its handler if it has one: what is left on the screen, and how it ended.
 */
static int end_with(int sig, void (*handler)(int))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (handler)
			signal(sig, handler);
		hl_progress_begin("working");
		nap_ms(550);
		hl_progress_tick(1, 2);
		raise(sig);
		hl_progress_end();
		raise(sig);
		_exit(3);
	}
	waitpid(child, &status, 0);
	return status;
}

static void own(int sig)
{
	_exit(4);
}

static void test_end(void **state)
{
	int status = end_with(SIGINT, NULL);
	const char *out = wait_for_it();

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	assert_non_null(strstr(out, "50%"));
	assert_string_equal(out + strlen(out) - 4, "\r\033[K");
	status = end_with(SIGTERM, own);
	out = wait_for_it();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
	assert_string_not_equal(out + strlen(out) - 4, "\r\033[K");
	status = end_with(SIGINT, SIG_IGN);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	wait_for_it();

	/* Once the line is gone, the signals are as they were. */
	hl_progress_begin("working");
	nap_ms(550);
	hl_progress_tick(1, 2);
	hl_progress_end();
	wait_for_it();
	assert_ptr_equal(signal(SIGINT, SIG_DFL), SIG_DFL);
}

static void test_never(void **state)
{
	setenv("CI", "true", 1);
	hl_progress_allow();
	hl_progress_begin("working");
	nap_ms(550);
	hl_progress_tick(1, 2);
	hl_progress_end();
	assert_string_equal(look(), "");
	unsetenv("CI");
	hl_progress_allow();
	hl_progress_never();
	hl_progress_begin("working");
	nap_ms(550);
	hl_progress_tick(1, 2);
	hl_progress_end();
	assert_string_equal(look(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bar),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_never),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
