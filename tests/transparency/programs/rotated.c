/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotated.c - a workload that counts its own calls, for tests that rotate a trace: four threads
 * allocate, resize and free blocks. It prints "ready PID", works until its stdin ends, and prints
 * the allocations, their bytes, the frees, and the bytes and blocks that it has not freed.
 *
 *	rotated [BLOCKS [PAUSE]]
 *
 * BLOCKS: of each thread, all of them allocated before "ready". PAUSE: in microseconds, after every
 * 64 calls of a thread.
 * All sizes are odd, those of libc's own blocks are not.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4

struct counts {
	uint64_t allocs, bytes, frees, left_bytes, left_blocks;
};

struct block {
	void *p;
	size_t size;
};

static struct counts counts[THREADS];
static struct block *blocks;
static size_t n_blocks = 2000;
static useconds_t pause_us;
static atomic_bool done;
static pthread_barrier_t filled;

static void count_alloc(struct counts *c, struct block *b)
{
	c->allocs++;
	c->bytes += b->size;
	c->left_bytes += b->size;
	c->left_blocks++;
}

static void count_free(struct counts *c, const struct block *b)
{
	c->frees++;
	c->left_bytes -= b->size;
	c->left_blocks--;
}

static void change(struct counts *c, struct block *b, uint64_t r)
{
	size_t size = (1 + (r >> 8) % 3000) | 1;

	if (b->p && r % 8 == 0) {
		count_free(c, b);
		b->p = realloc(b->p, size);
		b->size = size;
		count_alloc(c, b);
	} else if (b->p) {
		count_free(c, b);
		free(b->p);
		b->p = NULL;
	} else {
		b->p = malloc(size);
		b->size = size;
		count_alloc(c, b);
	}
}

static void *run_thread(void *arg)
{
	uintptr_t i = (uintptr_t)arg;
	uint64_t x = 88172645463325252u + i * 977;

	for (size_t k = 0; k < n_blocks; k++)
		change(&counts[i], &blocks[i * n_blocks + k], k * 977);
	pthread_barrier_wait(&filled);
	for (unsigned n = 0; !atomic_load_explicit(&done, memory_order_relaxed); n++) {
		if (n % 64 == 0 && pause_us)
			usleep(pause_us);
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		change(&counts[i], &blocks[i * n_blocks + (x >> 32) % n_blocks], x);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct counts all = {0};
	pthread_t threads[THREADS];
	char byte;

	if (argc > 1)
		n_blocks = strtoul(argv[1], NULL, 10);
	if (argc > 2)
		pause_us = (useconds_t)atoi(argv[2]);
	pthread_barrier_init(&filled, NULL, THREADS + 1);
	blocks = calloc(THREADS * n_blocks, sizeof(*blocks));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)i);
	pthread_barrier_wait(&filled);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	atomic_store(&done, true);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all.allocs += counts[i].allocs;
		all.bytes += counts[i].bytes;
		all.frees += counts[i].frees;
		all.left_bytes += counts[i].left_bytes;
		all.left_blocks += counts[i].left_blocks;
	}
	printf("%lu %lu %lu %lu %lu\n", all.allocs, all.bytes, all.frees, all.left_bytes,
		all.left_blocks);
	return 0;
}
