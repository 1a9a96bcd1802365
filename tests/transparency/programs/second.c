/* SPDX-License-Identifier: Apache-2.0 */
/*
 * second.c - second COUNT: a second thread that exists from the beginning but does not use the
 * heap, until it receives blocks to free and passes others back, COUNT times. Each address is
 * reused by the other thread at once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(void *) to_second, to_first;

static void *take_block(_Atomic(void *) *from)
{
	void *p;

	/* Without locked instructions or system calls, which would impose an order. */
	for (int looks = 1; !(p = atomic_load_explicit(from, memory_order_acquire)); looks++)
		if (looks % 10000 == 0)
			sched_yield();
	atomic_store_explicit(from, NULL, memory_order_release);
	return p;
}

static void give_block(_Atomic(void *) *to, void *p)
{
	atomic_store_explicit(to, p, memory_order_release);
}

static void *run_second(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++) {
		free(take_block(&to_second));
		give_block(&to_first, malloc(2000));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	void *volatile alone;
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_second, &count))
		return 1;
	for (int i = 0; i < count; i++) {
		alone = malloc(2000);
		free(alone);
	}
	for (int i = 0; i < count; i++) {
		give_block(&to_second, malloc(2000));
		free(take_block(&to_first));
	}
	return pthread_join(thread, NULL);
}
