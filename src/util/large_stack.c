/* SPDX-License-Identifier: Apache-2.0 */
/* large_stack.c - see large_stack.h. */
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "util/large_stack.h"

/* makecontext() passes only int arguments. */
static struct {
	int (*run)(int argc, char **argv);
	int argc, result;
	char **argv;
} call;

static void run_call(void)
{
	call.result = call.run(call.argc, call.argv);
}

static bool is_limit_below(size_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < bytes;
}

int hl_large_stack_run(size_t bytes, int (*run)(int argc, char **argv), int argc, char **argv)
{
	ucontext_t caller, large;
	void *stack;

	if (!is_limit_below(bytes))
		return run(argc, argv);
	stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || getcontext(&large) < 0)
		return run(argc, argv);
	large.uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes};
	large.uc_link = &caller;
	call.run = run;
	call.argc = argc;
	call.argv = argv;
	makecontext(&large, run_call, 0);
	/* The stack is not unmapped: exit handlers may refer to it. */
	return swapcontext(&caller, &large) < 0 ? run(argc, argv) : call.result;
}
