/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross.c - pairs of threads that free each other's blocks.
 *
 * Each thread fills a batch of blocks and passes it to its partner, which frees them. No block is
 * freed by the thread that allocated it: the worst case for a lock or a table per thread. A batch
 * is passed by one store, so that the program itself waits as little as possible; a thread that has
 * nothing to do yields the processor.
 *
 *	cross BLOCKS DEPTH [PAIRS-OF-THREADS]
 *
 * The program makes exactly BLOCKS allocations and BLOCKS frees in total, in addition to those that
 * libc makes for a thread.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, BATCHES = 16, PAIRS_MAX = 64 };

#define KEEP() __asm__ volatile("" ::: "memory")

struct batch {
	_Alignas(64) _Atomic uint32_t
		count; /* 0: owned by the allocating thread, else by its partner */
	void *blocks[BATCH];
};

struct side {
	struct batch sent[BATCHES];
	struct side *partner;
	uint64_t to_make, to_free;
	unsigned make_at, free_at;
	int depth;
	pthread_t thread;
};

static struct side sides[2 * PAIRS_MAX];
static pthread_barrier_t start;

__attribute__((always_inline)) static inline int make_batch(struct side *s)
{
	struct batch *b = &s->sent[s->make_at % BATCHES];
	uint32_t n = s->to_make < BATCH ? (uint32_t)s->to_make : BATCH;

	if (!n || atomic_load_explicit(&b->count, memory_order_acquire))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		b->blocks[i] = malloc(16 + 16 * (size_t)(i % 16));
		KEEP();
	}
	s->to_make -= n;
	s->make_at++;
	atomic_store_explicit(&b->count, n, memory_order_release);
	return 1;
}

static int free_batch(struct side *s)
{
	struct batch *b = &s->partner->sent[s->free_at % BATCHES];
	uint32_t n = atomic_load_explicit(&b->count, memory_order_acquire);

	if (!n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		free(b->blocks[i]);
	s->to_free -= n;
	s->free_at++;
	atomic_store_explicit(&b->count, 0, memory_order_release);
	return 1;
}

__attribute__((noinline)) static void descend(struct side *s, int level)
{
	if (level < s->depth) {
		descend(s, level + 1);
	} else {
		while (s->to_make || s->to_free) {
			if (!(make_batch(s) | free_batch(s)))
				sched_yield();
		}
	}
	KEEP();
}

static void *run_thread(void *arg)
{
	pthread_barrier_wait(&start);
	descend(arg, 1);
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t run(int n)
{
	uint64_t t;

	pthread_barrier_init(&start, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&sides[i].thread, NULL, run_thread, &sides[i]) != 0)
			_exit(3);
	}
	t = now_ns();
	pthread_barrier_wait(&start);
	for (int i = 0; i < n; i++)
		pthread_join(sides[i].thread, NULL);
	return now_ns() - t;
}

int main(int argc, char **argv)
{
	static const char usage[] = "usage: cross BLOCKS DEPTH [PAIRS-OF-THREADS]\n";
	uint64_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	int depth = argc > 2 ? atoi(argv[2]) : 0;
	int pairs = argc > 3 ? atoi(argv[3]) : 1;
	char line[256];
	uint64_t t;
	int n;

	if (!blocks || depth < 1 || pairs < 1 || pairs > PAIRS_MAX)
		return write(2, usage, sizeof(usage) - 1) < 0 ? 3 : 2;
	n = 2 * pairs;
	for (int i = 0; i < n; i++) {
		sides[i].partner = &sides[i ^ 1];
		sides[i].depth = depth;
		sides[i].to_make = blocks / (uint64_t)n + ((uint64_t)i < blocks % (uint64_t)n);
	}
	for (int i = 0; i < n; i++)
		sides[i].to_free = sides[i].partner->to_make;
	t = run(n);
	n = snprintf(line, sizeof(line),
		"{\"pairs\":%llu,\"allocations\":%llu,\"ns_per_pair\":%.3f}\n",
		(unsigned long long)blocks, (unsigned long long)blocks, (double)t / (double)blocks);
	return write(1, line, (size_t)n) == n ? 0 : 3;
}
