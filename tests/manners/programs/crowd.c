/*
 * crowd.c - crowd alive N COUNT: N threads that all live at the same time, each makes COUNT blocks
 * of 5000 bytes and frees half of them, all of them when it is even. crowd turns N COUNT: the same
 * one after the other.
 */
#include <pthread.h>
#include <stdint.h>
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

static void *alive(void *arg)
{
	pthread_barrier_wait(&here);
	work((int)(intptr_t)arg);
	pthread_barrier_wait(&done);
	return NULL;
}

static void *turn(void *arg)
{
	work((int)(intptr_t)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), together = !strcmp(argv[1], "alive");
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t attr;

	count = atoi(argv[3]);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_barrier_init(&here, NULL, (unsigned)n);
	pthread_barrier_init(&done, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&t[i], &attr, together ? alive : turn, (void *)(intptr_t)i))
			return 1;
		if (!together)
			pthread_join(t[i], NULL);
	}
	for (int i = 0; together && i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
