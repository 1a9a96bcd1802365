/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.c - a program in phases, with marks between them, that counts its blocks.
 *
 * Prints as JSON for each phase the blocks and bytes that were live when it began, that it
 * allocated, and that were live when it ended; and the number of blocks of each kind. Only the
 * program's own blocks are counted: those of keep_long(), die_young(), secret_grow() and worker().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "heaplapse.h"

#define KEPT 400

struct count {
	size_t blocks, bytes;
};

static struct count live, made, young, grown;
static void *kept[KEPT];
static size_t kept_size[KEPT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count_alloc(size_t size)
{
	live.blocks++;
	live.bytes += size;
	made.blocks++;
	made.bytes += size;
}

static void count_free(size_t size)
{
	live.blocks--;
	live.bytes -= size;
}

__attribute__((noinline)) static void keep_long(int i, size_t size)
{
	kept[i] = malloc(size);
	kept_size[i] = size;
	count_alloc(size);
}

__attribute__((noinline)) static void let_go(int i)
{
	count_free(kept_size[i]);
	free(kept[i]);
	kept[i] = NULL;
}

__attribute__((noinline)) static void die_young(size_t size)
{
	void *p = malloc(size);

	count_alloc(size);
	young.blocks++;
	young.bytes += size;
	count_free(size);
	free(p);
}

__attribute__((noinline)) static void secret_grow(int i, size_t size)
{
	count_free(kept_size[i]);
	kept[i] = realloc(kept[i], size);
	kept_size[i] = size;
	grown.blocks++;
	grown.bytes += size;
	count_alloc(size);
}

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 100; i++)
		die_young(96);
	keep_long(*(int *)arg, 777);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void run_worker(int at)
{
	pthread_t t;

	pthread_create(&t, NULL, worker, &at);
	pthread_join(t, NULL);
}

static void phase(const char *name, int from, int to)
{
	struct count before = live, made_before = made;

	heaplapse_mark(name);
	for (int i = from; i < to; i++) {
		keep_long(i, (size_t)(100 + i));
		for (int k = 0; k < 5; k++)
			die_young((size_t)(16 + k));
		if (i % 3 == 0)
			secret_grow(i, (size_t)(1000 + i));
		if (i >= 100 && i % 2)
			let_go(i - 100);
	}
	run_worker(to);
	printf("%s{\"name\":\"%s\",\"live\":[%zu,%zu],\"made\":[%zu,%zu],\"end\":[%zu,%zu]}",
		from ? "," : "", name, before.blocks, before.bytes,
		made.blocks - made_before.blocks, made.bytes - made_before.bytes, live.blocks,
		live.bytes);
	usleep(30000);
}

int main(int argc, char **argv)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	printf("{\"phases\":[");
	phase("secret-one", 0, 99);
	phase("secret-two", 100, 199);
	phase("secret-three", 200, 299);
	heaplapse_mark("secret-end");
	printf("],\"young\":[%zu,%zu],\"grown\":[%zu,%zu],\"all\":[%zu,%zu],\"left\":[%zu,%zu]}\n",
		young.blocks, young.bytes, grown.blocks, grown.bytes, made.blocks, made.bytes,
		live.blocks, live.bytes);
	if (argc > 1) /* another process reads from this one */
		sleep((unsigned)atoi(argv[1]));
	return 0;
}
