/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c - built twice, with frames of different sizes at the same pcs: see reload.c. */
#include <stdlib.h>

#ifndef FRAME
#define FRAME 1024
#endif

void *frames_inner(void);
void *frames_outer(void);

__attribute__((noinline)) void *frames_inner(void)
{
	volatile char pad[FRAME];
	void *p;

	pad[FRAME - 1] = pad[0] = 1;
	p = malloc(33);
	pad[1] = *(volatile char *)p;
	return p;
}

__attribute__((noinline)) void *frames_outer(void)
{
	volatile char pad[2 * FRAME];
	void *p;

	pad[2 * FRAME - 1] = pad[0] = 1;
	p = frames_inner();
	pad[1] = *(volatile char *)p;
	return p;
}
