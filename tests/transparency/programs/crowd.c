/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowd.c - many threads that allocate.
 *
 * crowd alive N COUNT: N threads that all run at the same time; each allocates COUNT blocks of 5000
 * bytes and frees half of them, or all if its number is even. crowd turns N COUNT: the same one
 * after the other; prints its memory in KiB after a tenth of them, and at the end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t here, done;
static int count;

static void work(int number)
{
	void *blocks[64];

	for (int i = 0; i < count; i += 64) {
		int n = count - i < 64 ? count - i : 64;

		for (int k = 0; k < n; k++)
			blocks[k] = malloc(5000);
		for (int k = 0; k < n; k++)
			if (number % 2 == 0 || k % 2 == 0)
				free(blocks[k]);
	}
}

static void *run_alive(void *arg)
{
	pthread_barrier_wait(&here);
	work((int)(intptr_t)arg);
	pthread_barrier_wait(&done);
	return NULL;
}

static void *run_turn(void *arg)
{
	work((int)(intptr_t)arg);
	return NULL;
}

static long resident_kib(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld", &pages) != 1)
		return 0;
	fclose(f);
	return pages * 4;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), together = !strcmp(argv[1], "alive");
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t attr;
	long early = 0;

	count = atoi(argv[3]);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_barrier_init(&here, NULL, (unsigned)n);
	pthread_barrier_init(&done, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		if (pthread_create(
			    &t[i], &attr, together ? run_alive : run_turn, (void *)(intptr_t)i))
			return 1;
		if (!together)
			pthread_join(t[i], NULL);
		if (i == n / 10)
			early = resident_kib();
	}
	for (int i = 0; together && i < n; i++)
		pthread_join(t[i], NULL);
	if (!together)
		printf("%ld %ld\n", early, resident_kib());
	return 0;
}
