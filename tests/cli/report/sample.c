/*
 * sample.c - a program like memtrail's sample that counts its own blocks.
 *
 * Prints its highest number of live bytes, and the blocks that each snapshot adds to the previous
 * one. Many small blocks are freed before larger ones are allocated: a report that replays events
 * in another order computes a maximum that never existed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "heaplapse.h"

static size_t live, highest;
static void *leaked, *at_start;

static void *count_block(void *p, size_t size)
{
	live += size;
	if (live > highest)
		highest = live;
	return p;
}

static void free_counted(void *p, size_t size)
{
	live -= size;
	free(p);
}

__attribute__((constructor, noinline)) static void before_main(void)
{
	at_start = count_block(malloc(384), 384);
}

__attribute__((noinline)) static void *test_malloc(void)
{
	return count_block(malloc(1024), 1024);
}

__attribute__((noinline)) static void *test_calloc(void)
{
	return count_block(calloc(4, 512), 2048);
}

__attribute__((noinline)) static void *test_realloc(void)
{
	void *p = count_block(malloc(1024), 1024);

	live -= 1024;
	return count_block(realloc(p, 2048), 2048);
}

__attribute__((noinline)) static void test_order(void)
{
	void *small[50];

	for (int i = 0; i < 50; i++)
		small[i] = count_block(malloc(100), 100);
	for (int i = 0; i < 50; i++)
		free_counted(small[i], 100);
	for (int i = 0; i < 50; i++)
		small[i] = count_block(malloc(90), 90);
	for (int i = 0; i < 50; i++)
		free_counted(small[i], 90);
}

__attribute__((noinline)) static void test_snapshot(void)
{
	heaplapse_snapshot("one");
	leaked = count_block(malloc(64), 64);
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
	free_counted(blocks[3], 2048);
	free_counted(blocks[2], 2048);
	free_counted(blocks[1], 2048);
	test_snapshot();
	free_counted(blocks[0], 1024);
	/* Not printf: stdio would allocate. */
	n = snprintf(line, sizeof(line), "%zu %zu\n", highest, live);
	return write(1, line, (size_t)n) == n ? 0 : 1;
}
/* SPDX-License-Identifier: Apache-2.0 */
