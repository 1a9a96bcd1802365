/* SPDX-License-Identifier: Apache-2.0 */
/* large_stack_test.c - a function that needs more stack than the limit runs in a child process. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/large_stack.h"

#define USED (512u << 10)

static int use_stack(int argc, char **argv)
{
	volatile char buffer[USED];

	for (size_t i = 0; i < sizeof(buffer); i += 4096)
		buffer[sizeof(buffer) - 1 - i] = 1;
	return argc == 2 && strcmp(argv[1], "word") == 0 && buffer[sizeof(buffer) - 1] ? 7 : 8;
}

/* The exit status of use_stack() below this limit, or the signal that ended it plus 128. */
static int run_limited(rlim_t limit, size_t bytes)
{
	char program[] = "program", word[] = "word", *argv[] = {program, word, NULL};
	const struct rlimit limits = {limit, limit};
	pid_t child = fork();
	int status;

	if (!child) {
		if (limit && setrlimit(RLIMIT_STACK, &limits) < 0)
			_exit(9);
		_exit(hl_large_stack_run(bytes, use_stack, 2, argv));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void runs_below_a_small_limit(void **state)
{
	assert_int_equal(run_limited(64u << 10, 2 * USED), 7);
}

static void runs_on_the_own_stack_if_it_suffices(void **state)
{
	assert_int_equal(run_limited(0, 2 * USED), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_below_a_small_limit),
		cmocka_unit_test(runs_on_the_own_stack_if_it_suffices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
