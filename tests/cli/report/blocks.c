/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.c - a program for the test of single blocks: it prints each block that it allocates
 *itself, in order, with its realloc chain, as
 *
 *	PHASE ADDRESS SIZE CHAIN POSITION FREED
 *
 * PHASE is the function that allocated it. CHAIN numbers the chains, POSITION counts from 1. FREED
 *is the function that freed it: "-" if it is not freed.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCKS 64

static struct {
	const char *phase, *freed;
	uintptr_t addr;
	size_t size;
	int chain, position;
} blocks[BLOCKS];
static int n_blocks, n_chains;

/* Called after each allocation: the index of the block. */
static int note(const char *phase, void *p, size_t size, int made_from)
{
	int i = n_blocks++;

	blocks[i].phase = phase;
	blocks[i].freed = "-";
	blocks[i].addr = (uintptr_t)p;
	blocks[i].size = size;
	blocks[i].chain = made_from < 0 ? n_chains++ : blocks[made_from].chain;
	blocks[i].position = made_from < 0 ? 1 : blocks[made_from].position + 1;
	return i;
}

/* Times of the trace have steps of 64 ns; the steps of this program are much longer. */
static void wait_a_moment(void)
{
	const struct timespec t = {0, 2000000};

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void *leak_all(void)
{
	void *p = malloc(111);

	note("leak_all", p, 111, -1);
	return p;
}

__attribute__((noinline)) static void *hold(void)
{
	void *p = malloc(222);

	note("hold", p, 222, -1);
	return p;
}

__attribute__((noinline)) static void release(void *p, int i)
{
	blocks[i].freed = "release";
	free(p);
}

/* Makes a chain of n blocks of 10, 1010, 2010 ... bytes. */
__attribute__((noinline)) static void *grow(int n)
{
	void *p = malloc(10);
	int i = note("grow", p, 10, -1);

	for (int k = 1; k < n; k++) {
		wait_a_moment();
		blocks[i].freed = "grow";
		p = realloc(p, (size_t)k * 1000 + 10);
		i = note("grow", p, (size_t)k * 1000 + 10, i);
	}
	return p;
}

__attribute__((noinline)) static void *descend(int depth)
{
	void *p;

	if (depth > 0) {
		p = descend(depth - 1);
		__asm__ volatile("" ::"r"(p) : "memory"); /* no tail call */
		return p;
	}
	p = malloc(333);
	note("descend", p, 333, -1);
	return p;
}

static void *free_elsewhere(void *p)
{
	free(p);
	return NULL;
}

int main(void)
{
	void *volatile kept[8];
	pthread_t thread;
	void *p;
	int i;

	for (int k = 0; k < 3; k++)
		kept[k] = leak_all();
	for (int k = 0; k < 4; k++) {
		wait_a_moment();
		p = hold();
		i = n_blocks - 1;
		if (k < 3)
			release(p, i);
		else
			kept[k] = p;
	}
	p = grow(4);
	release(p, n_blocks - 1);
	kept[4] = grow(3);
	kept[5] = descend(20);
	p = hold();
	blocks[n_blocks - 1].freed = "free_elsewhere";
	if (pthread_create(&thread, NULL, free_elsewhere, p) == 0)
		pthread_join(thread, NULL);
	for (i = 0; i < n_blocks; i++)
		printf("%s 0x%lx %zu %d %d %s\n", blocks[i].phase, (unsigned long)blocks[i].addr,
			blocks[i].size, blocks[i].chain, blocks[i].position, blocks[i].freed);
	return kept[5] == NULL;
}
