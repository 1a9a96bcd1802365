/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ending.c - allocates 100 blocks of 7000 to 7099 bytes, frees 40 of them, and ends in the way that
 * its argument names. No stdio: these are all its events, except for those that libc makes for a
 * thread.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *blocks[100];

static void *exit_from_thread(void *arg)
{
	exit(5);
}

static void *go_on(void *arg)
{
	usleep(300000); /* the main thread has ended by then */
	for (int i = 40; i < 60; i++)
		free(blocks[i]);
	return NULL;
}

static void *go_on_and_exit(void *arg)
{
	go_on(arg);
	exit(6);
}

static void run_in_thread(void *(*fn)(void *))
{
	pthread_t t;

	pthread_create(&t, NULL, fn, NULL);
	pthread_join(t, NULL);
}

static void leave_main(void *(*fn)(void *))
{
	pthread_t t;

	pthread_create(&t, NULL, fn, NULL);
	pthread_exit(NULL);
}

static void end(const char *way)
{
	if (!strncmp(way, "exit:", 5))
		exit(atoi(way + 5));
	if (!strncmp(way, "_exit:", 6))
		_exit(atoi(way + 6));
	if (!strncmp(way, "_Exit:", 6))
		_Exit(atoi(way + 6));
	if (!strncmp(way, "quick_exit:", 11))
		quick_exit(atoi(way + 11));
	if (!strncmp(way, "syscall:", 8))
		syscall(SYS_exit_group, atoi(way + 8));
	if (!strncmp(way, "kill:", 5)) {
		kill(getpid(), atoi(way + 5));
		for (;;)
			pause();
	}
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "segv"))
		*(volatile int *)0 = 1;
	if (!strcmp(way, "thread"))
		run_in_thread(exit_from_thread);
	if (!strcmp(way, "leave-main"))
		leave_main(go_on);
	if (!strcmp(way, "leave-main-exit"))
		leave_main(go_on_and_exit);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 100; i++)
		blocks[i] = malloc(7000 + (size_t)i);
	for (int i = 0; i < 40; i++)
		free(blocks[i]);
	end(argv[1]);
	return 0;
}
