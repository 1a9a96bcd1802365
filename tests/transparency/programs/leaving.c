/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaving.c - ends in the way that its argument names; with a second argument it first prints
 * "ready" and waits for a line from stdin. Each way leaves 10 live blocks of 5000 bytes, allocated
 * before or during the end.
 *
 *	leaving WAY [wait]
 *
 * handlers: in an atexit handler and a destructor, both of which run within exit(). quick: in a
 * handler of quick_exit(). threads: four threads allocate all the time while main returns. two: two
 * threads call _exit() and exit() at the same time. fork: a child leaves 10 blocks and calls
 * exit(); its parent waits for it. exec: becomes `leaving return`. handled: a handler of SIGSEGV
 * calls _exit(). Other ways: see ending.c.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *way = "";

static void leave_blocks(int n)
{
	for (int i = 0; i < n; i++)
		if (!malloc(5000))
			abort();
}

static void leave_half(void)
{
	leave_blocks(5);
}

static void leave_all(void)
{
	leave_blocks(10);
}

__attribute__((destructor)) static void at_the_end(void)
{
	if (!strcmp(way, "handlers"))
		leave_blocks(5);
}

static void *churn(void *arg)
{
	for (;;)
		free(malloc(300));
	return arg;
}

static void *exit_now(void *arg)
{
	pthread_barrier_wait(arg);
	exit(3);
}

static void on_segv(int sig)
{
	_exit(sig);
}

static void end_with_threads(void)
{
	pthread_t t;

	leave_blocks(10);
	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, churn, NULL);
	usleep(10000);
}

static void end_twice(void)
{
	pthread_barrier_t both;
	pthread_t t;

	leave_blocks(10);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, exit_now, &both);
	pthread_barrier_wait(&both);
	_exit(3);
}

static void end_with_child(void)
{
	pid_t child;

	leave_blocks(10);
	child = fork();
	if (!child) {
		leave_blocks(10);
		exit(3);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	char byte;

	way = argv[1];
	if (argc > 2 && (write(1, "ready\n", 6) < 0 || read(0, &byte, 1) < 0))
		return 1;
	if (!strcmp(way, "return"))
		leave_blocks(10);
	if (!strcmp(way, "handlers"))
		atexit(leave_half);
	if (!strcmp(way, "quick")) {
		at_quick_exit(leave_all);
		quick_exit(3);
	}
	if (!strcmp(way, "threads"))
		end_with_threads();
	if (!strcmp(way, "two"))
		end_twice();
	if (!strcmp(way, "fork"))
		end_with_child();
	if (!strcmp(way, "exec"))
		execl("/proc/self/exe", argv[0], "return", NULL);
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "kill"))
		raise(SIGKILL);
	if (!strcmp(way, "handled")) {
		signal(SIGSEGV, on_segv);
		raise(SIGSEGV);
	}
	return 3;
}
