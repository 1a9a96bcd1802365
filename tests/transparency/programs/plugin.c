/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.c - built twice, as alpha and as beta: the same addresses, but other functions with other
 * frames. FRAME is the size of their frames, SIZE that of the blocks.
 */
#include <stdlib.h>

#define NAME2(a, b) a##b
#define NAME(a, b)  NAME2(a, b)

void *plugin_run(int n);

static __attribute__((noinline)) void *NAME(WHO, _inner)(int n)
{
	volatile char room[FRAME];
	void *p = NULL;

	for (int i = 0; i < n; i++) {
		room[i % FRAME] = (char)i;
		p = malloc(SIZE);
	}
	return (char *)p + room[0];
}

__attribute__((noinline)) void *plugin_run(int n)
{
	volatile char room[FRAME * 2];

	room[0] = 0;
	return (char *)NAME(WHO, _inner)(n) + room[0];
}
