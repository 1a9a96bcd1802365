/*
 * stacks.c - a program that prints the expected freeing functions, mappings and realloc chains of
 * its blocks. Every function that allocates, frees or maps is named after what it does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

static void *volatile kept, *volatile left[2];

/* --- freeing functions --- */

static __attribute__((noinline)) void *make_message(size_t size)
{
	return malloc(size);
}

static __attribute__((noinline)) void *make_buffer(size_t size)
{
	return malloc(size);
}

static __attribute__((noinline)) void drop_here(void *p)
{
	free(p);
}

static __attribute__((noinline)) void *drop_elsewhere(void *p)
{
	free(p);
	return NULL;
}

static __attribute__((noinline)) void *grow(void *p, size_t size)
{
	return realloc(p, size);
}

static void run_in_thread(void *(*fn)(void *), void *p)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, p) || pthread_join(t, NULL))
		abort();
}

/* make_message: 10 of 100 bytes; 4 freed here, 3 in another thread, 1 reallocated, 2 kept. */
static void messages(void)
{
	void *all[10];

	for (int i = 0; i < 10; i++)
		all[i] = make_message(100);
	for (int i = 0; i < 4; i++)
		drop_here(all[i]);
	for (int i = 4; i < 7; i++)
		run_in_thread(drop_elsewhere, all[i]);
	drop_here(grow(all[7], 3000));
	left[0] = all[8];
	left[1] = all[9];
}

/* --- chains --- */

static void *grow_in_thread(void *p)
{
	return kept = grow(p, 70000);
}

static void chains(void)
{
	char *p, *other;

	/* A chain of five blocks: in place or moved, larger and smaller, in two threads; freed. */
	p = grow(NULL, 24);
	other = make_buffer(24);
	p = grow(p, 5000);
	p = grow(p, 200);
	p = grow(p, 64000);
	run_in_thread(grow_in_thread, p);
	drop_here(kept);
	drop_here(other);
	/* A chain of three blocks, of which the last is kept. */
	p = make_buffer(1000);
	p = grow(p, 2000);
	kept = grow(p, 3500);
	/* A block that realloc(p, 0) frees. */
	p = make_buffer(777);
	if (grow(p, 0))
		abort();
	/* A realloc that fails does not change its block. */
	p = make_buffer(888);
	if (grow(p, (size_t)1 << 62))
		abort();
	drop_here(p);
}

/* Many chunks of events between the first block of a chain and its realloc. */
static void across_chunks(void)
{
	void *p = make_buffer(321);

	for (int i = 0; i < 40000; i++)
		free(make_message(8));
	p = grow(p, 654);
	drop_here(p);
}

/* --- mappings --- */

static __attribute__((noinline)) char *map_whole(size_t size, int prot, int flags)
{
	return mmap(NULL, size, prot, flags | MAP_ANONYMOUS, -1, 0);
}

static __attribute__((noinline)) void unmap(void *p, size_t size)
{
	if (munmap(p, size))
		abort();
}

static __attribute__((noinline)) void *unmap_in_thread(void *p)
{
	unmap(p, 16 * PAGE);
	return NULL;
}

static void mappings(void)
{
	char *a, *b, *c, *d;

	/* Unmapped by another thread. */
	a = map_whole(16 * PAGE, PROT_READ, MAP_PRIVATE);
	printf("whole %p\n", (void *)a);
	run_in_thread(unmap_in_thread, a);
	/* First the middle, then the rest: three calls. */
	a = map_whole(8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	printf("parts %p\n", (void *)a);
	unmap(a + 2 * PAGE, 3 * PAGE);
	unmap(a, 2 * PAGE);
	unmap(a + 5 * PAGE, 3 * PAGE);
	/* Grown by mremap, and unmapped at its new size. */
	b = map_whole(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
	printf("moved %p\n", (void *)b);
	c = mremap(b, 4 * PAGE, 400 * PAGE, MREMAP_MAYMOVE);
	unmap(c, 400 * PAGE);
	/* Half of it is replaced by another mapping; both exist at the end. */
	a = map_whole(10 * PAGE, PROT_NONE, MAP_PRIVATE);
	printf("under %p\n", (void *)a);
	d = mmap(
		a, 5 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	printf("over %p\n", (void *)d);
	/* Not whole pages; replaced completely. */
	a = map_whole(PAGE + 1, PROT_READ, MAP_PRIVATE);
	printf("odd %p\n", (void *)a);
	d = mmap(a, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	printf("last %p\n", (void *)d);
}

int main(void)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	messages();
	chains();
	across_chunks();
	mappings();
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
