/* SPDX-License-Identifier: Apache-2.0 */
/* deep.c - recursion to many depths, alloca, realigned frames with a DRAP, callbacks from libc. */
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;
static unsigned seed = 1;

static unsigned random_below(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % n;
}

static void use_block(void *p)
{
	*(volatile char *)p = 1;
	sink++;
	free(p);
}

__attribute__((noinline)) static int leaf(int n)
{
	use_block(malloc((size_t)n + 1));
	use_block(calloc(1, (size_t)n + 1));
	return n;
}

__attribute__((noinline)) static int with_alloca(int depth);

/* An over-aligned local and a variable-sized one: the CFA is stored in memory. */
__attribute__((noinline)) static int with_drap(int depth, ...)
{
	_Alignas(64) volatile char aligned[128];
	volatile char *more = alloca((size_t)random_below(200) + 1);

	aligned[depth & 127] = more[0] = 1;
	use_block(malloc(16));
	return (depth > 0 ? with_alloca(depth - 1) : leaf(3)) + aligned[depth & 127] + more[0];
}

__attribute__((noinline)) static int with_alloca(int depth)
{
	volatile char *p = alloca((size_t)random_below(300) + 1);

	p[0] = 2;
	use_block(malloc(24));
	if (depth <= 0)
		return leaf(5) + p[0];
	return (random_below(2) ? with_drap(depth - 1, 1, 2, 3, 4, 5, 6, 7, 8)
				: with_alloca(depth - 1)) +
	       p[0];
}

__attribute__((noinline)) static int plain(int depth)
{
	int n = 0;

	if (depth <= 0)
		return leaf(1);
	for (int i = 0; i < 2; i++) {
		n += plain(depth - 1 - (int)random_below(3));
		use_block(malloc(32));
	}
	return n + 1;
}

__attribute__((noinline)) static int very_deep(int depth)
{
	volatile char pad[48];

	pad[depth & 31] = 1;
	if (depth % 64 == 0)
		use_block(malloc(8));
	return depth > 0 ? very_deep(depth - 1) + pad[depth & 31] : leaf(2);
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	use_block(malloc(40));
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, v[300];

	for (int r = 0; r < rounds; r++) {
		plain(14);
		for (int i = 0; i < 40; i++)
			with_alloca((int)random_below(30));
		for (size_t i = 0; i < 300; i++)
			v[i] = (int)random_below(1000);
		qsort(v, 300, sizeof(v[0]), compare);
	}
	for (int d = 1000; d <= 7000; d += 2000)
		very_deep(d);
	return 0;
}
