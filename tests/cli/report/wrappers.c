/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers.c - a program whose allocation wrappers are known: wrappers_test.py has the truth.
 *
 * Each of 12 callers allocates a different amount through each of the functions below, and keeps
 * it. Caller n is called once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N        12
#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile size_t one = 1; /* keeps the compiler from knowing sizes and depths */

/* Wrappers: mem_get, and what it calls; mem_zero, which calls mem_get; mem_near, which is inlined
 * in all of its callers; text_copy. */
static NOINLINE void *mem_really_get(size_t n)
{
	return malloc(n * one);
}

static NOINLINE void *mem_get(size_t n)
{
	void *p = mem_really_get(n);

	if (!p)
		abort();
	return p;
}

static NOINLINE void *mem_zero(size_t n)
{
	void *p = mem_get(n);

	return memset(p, 0, n);
}

static inline __attribute__((always_inline)) void *mem_near(size_t n)
{
	return malloc(n * one);
}

static NOINLINE void *mem_near_far(size_t n)
{
	return mem_near(n);
}

static NOINLINE char *text_copy(const char *text)
{
	return strdup(text);
}

/* Not wrappers: mem_near_far has 4 callers; names_add has few callers and one size; thing_new also
 * builds something through it; node_make makes nodes of one size; walk, ping and pong are
 * recursive. */
struct node {
	struct node *next;
	char data[40];
};

static NOINLINE void *names_add(void)
{
	return malloc(96 * one);
}

static NOINLINE void *thing_new(size_t n)
{
	void **p = mem_get(n);

	*p = names_add();
	return p;
}

static NOINLINE struct node *node_make(void)
{
	return mem_get(sizeof(struct node));
}

static NOINLINE void *walk(size_t n, unsigned depth)
{
	void **p = depth > 0 ? walk(n + one, depth - 1) : NULL;
	void **q = malloc(n);

	*q = p;
	return q;
}

static NOINLINE void *pong(size_t n, unsigned depth);
static NOINLINE void *ping(size_t n, unsigned depth)
{
	void **p = malloc(n);

	*p = depth > 0 ? pong(n + one, depth - 1) : NULL;
	return p;
}

static NOINLINE void *pong(size_t n, unsigned depth)
{
	void **p = malloc(n);

	*p = depth > 0 ? ping(n + one, depth - 1) : NULL;
	return p;
}

static void *kept[N][10];

#define CALLER(i)                                                           \
	static NOINLINE void caller_##i(void)                               \
	{                                                                   \
		size_t n = ((size_t)20 << i) * one;                         \
		char text[64] = {0};                                        \
		kept[i][0] = mem_get(n);                                    \
		kept[i][1] = mem_zero(n);                                   \
		kept[i][2] = i % 3 ? mem_near(n) : mem_near_far(n);         \
		kept[i][3] = text_copy(memset(text, 'x', (size_t)(5 * i))); \
		kept[i][4] = thing_new(n);                                  \
		kept[i][5] = node_make();                                   \
		kept[i][6] = walk(n, 2);                                    \
		kept[i][7] = ping(n, 3);                                    \
		kept[i][8] = pong(n, 3);                                    \
		kept[i][9] = i < 4 ? names_add() : NULL;                    \
	}
CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)
CALLER(8)
CALLER(9)
CALLER(10)
CALLER(11)

int main(void)
{
	static void (*const callers[N])(void) = {caller_0, caller_1, caller_2, caller_3, caller_4,
		caller_5, caller_6, caller_7, caller_8, caller_9, caller_10, caller_11};

	for (size_t i = 0; i < N; i++)
		callers[i]();
	return 0;
}
