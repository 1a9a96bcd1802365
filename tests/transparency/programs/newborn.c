/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newborn.c - newborn THREADS: signals interrupt threads in their very first allocation, and the
 * handler allocates too. Needs an allocator that may be called in handlers (bump.c). A handler's
 * blocks have 41 bytes until the thread's first malloc has returned, and 42 after that; prints the
 * number of each.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int started, done;
static _Atomic unsigned long made[2];
static _Thread_local volatile int later;

static void on_signal(int sig)
{
	int kind = later;
	void *volatile p = malloc(41 + (size_t)kind);

	(void)sig;
	free(p);
	made[kind]++;
}

static void *run_thread(void *arg)
{
	void *volatile p;

	started = 1;
	p = malloc(100);
	later = 1;
	free(p);
	done = 1;
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	int threads = argc > 1 ? atoi(argv[1]) : 100;

	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		started = done = 0;
		if (pthread_create(&thread, NULL, run_thread, NULL))
			return 1;
		while (!started)
			;
		while (!done) {
			pthread_kill(thread, SIGUSR1);
			for (volatile int wait = 0; wait < 2000; wait++)
				;
		}
		pthread_join(thread, NULL);
	}
	fprintf(stderr, "%lu %lu\n", made[0], made[1]);
	return 0;
}
