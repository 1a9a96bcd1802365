/* SPDX-License-Identifier: Apache-2.0 */
/* loop60.c - the most common pattern: a loop deep in the call tree that allocates. */
#include <stdlib.h>

static volatile int sink;

__attribute__((noinline)) static void loop(int n)
{
	for (int i = 0; i < n; i++) {
		char *p = malloc(16), *q = malloc(32);

		*(volatile char *)p = *(volatile char *)q = 1;
		sink++;
		free(p);
		free(q);
	}
}

__attribute__((noinline)) static int down(int depth, int n)
{
	volatile char pad[24];

	pad[0] = (char)depth;
	if (depth > 0)
		return down(depth - 1, n) + pad[0];
	loop(n);
	return pad[0];
}

int main(int argc, char **argv)
{
	return down(56, argc > 1 ? atoi(argv[1]) : 10000) == 1;
}
