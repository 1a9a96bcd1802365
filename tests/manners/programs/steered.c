/*
 * steered.c - work for those who steer a recording: blocks come, move and go in four threads while
 * somebody changes modes. It says "ready PID", works until its stdin ends, frees all but the blocks
 * that it made before "ready", and prints how many bytes and blocks those are.
 *
 *	steered load | fork | idle
 *
 * fork: a child does the work, and says so by its own pid. idle: nothing happens until stdin ends.
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
static atomic_bool over;

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Whatever lies in a slot may be another thread's. */
static void *work(void *arg)
{
	uint64_t x = 88172645463325252u + (uintptr_t)arg * 977;

	while (!atomic_load(&over)) {
		uint64_t r = next(&x);
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
		pthread_create(&threads[i], NULL, work, (void *)i);
	while (read(0, &byte, 1) > 0)
		;
	atomic_store(&over, true);
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
	/* Every third goes now, whatever was recorded since. */
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
