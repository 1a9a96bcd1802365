/* progress_test.c - the bar at a terminal: not at once, not too often, and gone at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "util/progress.h"

static int screen;
static char seen[4096];

static void nap_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* What has come to the terminal since the last look. */
static const char *look(void)
{
	ssize_t n = read(screen, seen, sizeof(seen) - 1);

	seen[n > 0 ? n : 0] = 0;
	return seen;
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
	assert_non_null(strstr(look(), "working [###############...............]  50%"));
	hl_progress_begin("inside");
	hl_progress_tick(1, 2);
	hl_progress_end();
	hl_progress_tick(51, 100);
	assert_string_equal(look(), ""); /* too soon */
	nap_ms(120);
	hl_progress_tick(200, 100);
	assert_non_null(strstr(look(), "100%"));
	hl_progress_end();
	assert_string_equal(look(), "\r\033[K");
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
		cmocka_unit_test(test_never),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
