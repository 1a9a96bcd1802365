/*
 * second.c - second COUNT: a second thread that is there from the beginning and has no part in the
 * heap, until it gets blocks to free and gives others back, COUNT times. Each address goes from
 * hand to hand at once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(void *) to_second, to_first;

static void *take(_Atomic(void *) *from)
{
	void *p;

	/* Without locked instructions or system calls, which would keep the order for us. */
	for (int looks = 1; !(p = atomic_load_explicit(from, memory_order_acquire)); looks++)
		if (looks % 10000 == 0)
			sched_yield();
	atomic_store_explicit(from, NULL, memory_order_release);
	return p;
}

static void give(_Atomic(void *) *to, void *p)
{
	atomic_store_explicit(to, p, memory_order_release);
}

static void *second(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++) {
		free(take(&to_second));
		give(&to_first, malloc(2000));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	void *volatile alone;
	pthread_t thread;

	if (pthread_create(&thread, NULL, second, &count))
		return 1;
	for (int i = 0; i < count; i++) {
		alone = malloc(2000);
		free(alone);
	}
	for (int i = 0; i < count; i++) {
		give(&to_second, malloc(2000));
		free(take(&to_first));
	}
	return pthread_join(thread, NULL);
}
