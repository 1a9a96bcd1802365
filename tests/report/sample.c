/*
 * sample.c - a program like the sample of memtrail, that counts what it does.
 *
 * Prints its own highest number of live bytes, and what each snapshot has that the one before had
 * not. Many small blocks are freed before larger ones are allocated: a report that replays events
 * in another order finds a maximum that never was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "heaplapse.h"

static size_t live, highest;
static void *leaked, *at_start;

static void *count(void *p, size_t size)
{
	live += size;
	if (live > highest)
		highest = live;
	return p;
}

static void give_back(void *p, size_t size)
{
	live -= size;
	free(p);
}

__attribute__((constructor, noinline)) static void before_main(void)
{
	at_start = count(malloc(384), 384);
}

__attribute__((noinline)) static void *test_malloc(void)
{
	return count(malloc(1024), 1024);
}

__attribute__((noinline)) static void *test_calloc(void)
{
	return count(calloc(4, 512), 2048);
}

__attribute__((noinline)) static void *test_realloc(void)
{
	void *p = count(malloc(1024), 1024);

	live -= 1024;
	return count(realloc(p, 2048), 2048);
}

__attribute__((noinline)) static void test_order(void)
{
	void *small[50];

	for (int i = 0; i < 50; i++)
		small[i] = count(malloc(100), 100);
	for (int i = 0; i < 50; i++)
		give_back(small[i], 100);
	for (int i = 0; i < 50; i++)
		small[i] = count(malloc(90), 90);
	for (int i = 0; i < 50; i++)
		give_back(small[i], 90);
}

__attribute__((noinline)) static void test_snapshot(void)
{
	heaplapse_snapshot("one");
	leaked = count(malloc(64), 64);
	heaplapse_snapshot("two");
}

int main(void)
{
	char line[64];
	void *blocks[4];
	int n;

	test_order();
	blocks[0] = test_malloc();
	blocks[1] = test_calloc();
	blocks[2] = test_calloc();
	blocks[3] = test_realloc();
	give_back(blocks[3], 2048);
	give_back(blocks[2], 2048);
	give_back(blocks[1], 2048);
	test_snapshot();
	give_back(blocks[0], 1024);
	/* stdio would allocate. */
	n = snprintf(line, sizeof(line), "%zu %zu\n", highest, live);
	return write(1, line, (size_t)n) == n ? 0 : 1;
}
