/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steered.c - a workload for tests that steer a recording: four threads allocate, resize and free
 * blocks while a test changes modes. It prints "ready PID", works until its stdin ends, frees all
 * blocks except those that it allocated before "ready", and prints the bytes and blocks of those.
 *
 *	steered load | fork | idle
 *
 * fork: a child does the work, and prints its own pid. idle: nothing happens until stdin ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define SLOTS   256
#define KEPT    1000

static _Atomic(void *) slots[SLOTS];
static void *kept[KEPT];
static atomic_bool done;

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* The block in a slot may be another thread's. */
static void *run_thread(void *arg)
{
	uint64_t x = 88172645463325252u + (uintptr_t)arg * 977;

	while (!atomic_load(&done)) {
		uint64_t r = next_random(&x);
		size_t size = 1 + (r >> 8) % ((r >> 40) % 16 ? 200 : 100000);
		void *p = atomic_exchange(&slots[r % SLOTS], NULL);

		if (p && (r >> 32) % 4 == 0)
			p = realloc(p, size);
		else {
			free(p);
			p = malloc(size);
		}
		free(atomic_exchange(&slots[(r >> 16) % SLOTS], p));
	}
	return NULL;
}

static void run_load(void)
{
	pthread_t threads[THREADS];
	char byte;

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)i);
	while (read(0, &byte, 1) > 0)
		;
	atomic_store(&done, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SLOTS; i++)
		free(slots[i]);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "load";
	size_t bytes = 0, blocks = 0;
	char line[100], byte;

	if (!strcmp(how, "fork")) {
		int status;
		pid_t child = fork();

		if (child > 0) {
			waitpid(child, &status, 0);
			return WEXITSTATUS(status);
		}
	}
	for (size_t i = 0; i < KEPT; i++)
		kept[i] = malloc(10 + i);
	snprintf(line, sizeof(line), "ready %d\n", (int)getpid());
	if (write(1, line, strlen(line)) < 0)
		return 1;
	if (!strcmp(how, "idle"))
		while (read(0, &byte, 1) > 0)
			;
	else
		run_load();
	/* Every third block is freed now, whatever was recorded since. */
	for (size_t i = 0; i < KEPT; i++) {
		if (i % 3 == 0) {
			free(kept[i]);
			continue;
		}
		bytes += 10 + i;
		blocks++;
	}
	snprintf(line, sizeof(line), "%zu %zu\n", bytes, blocks);
	return write(1, line, strlen(line)) < 0;
}
