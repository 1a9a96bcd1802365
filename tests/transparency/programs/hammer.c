/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hammer.c - hammer SECONDS: allocates 300 bytes and frees them, in two threads, until the time is
 * over; then prints how often and exits with 17. Prints "ready" when it has started.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double seconds;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static __attribute__((noinline)) long hit(void)
{
	for (int i = 0; i < 200; i++)
		free(malloc(300));
	usleep(1000); /* many enough to fill a ring quickly, few enough to be counted afterwards */
	return 200;
}

static void *hammer(void *arg)
{
	double end = now() + seconds;

	while (now() < end)
		*(long *)arg += hit();
	return NULL;
}

int main(int argc, char **argv)
{
	long n[2] = {0, 0};
	pthread_t t;

	seconds = atof(argv[1]);
	dprintf(1, "ready %d\n", getpid());
	pthread_create(&t, NULL, hammer, &n[1]);
	hammer(&n[0]);
	pthread_join(t, NULL);
	dprintf(1, "%ld\n", n[0] + n[1]);
	return 17;
}
