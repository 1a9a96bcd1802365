/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.c - measures the stack that one call uses: fills it with a pattern, calls, and looks for
 * changes. Prints a line "WHAT BYTES" for each call, with the same words bare and recorded, so that
 * the difference is the recorder's.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK (512 * 1024)
#define PAINT 0xa5

static char *base;
static void *block;

/* Returns the number of bytes below this frame that `call` has written to. */
static __attribute__((noinline)) size_t measure_stack(void (*call)(void))
{
	char *here = __builtin_alloca(16); /* the lowest byte of this frame */
	volatile char *at = base;

	/* Not memset: its own frame would be in the area. */
	while (at < here)
		*at++ = (char)PAINT;
	call();
	for (at = base; at < here && *at == (char)PAINT;)
		at++;
	return (size_t)(here - at);
}

static void call_malloc(void)
{
	block = malloc(100);
}

static void call_free(void)
{
	free(block);
}

static void call_calloc(void)
{
	block = calloc(10, 10);
}

static void call_realloc(void)
{
	block = realloc(block, 3000);
}

static void call_memalign(void)
{
	if (posix_memalign(&block, 64, 100))
		abort();
}

static void print_line(const char *what, size_t bytes)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %zu\n", what, bytes);

	if (fwrite(line, 1, (size_t)n, stdout) != (size_t)n)
		abort();
}

static __attribute__((noinline)) size_t measure_deep(int depth, void (*call)(void))
{
	volatile size_t n = depth ? measure_deep(depth - 1, call) : measure_stack(call);

	return n;
}

static void *measure_all(void *arg)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} calls[] = {{"malloc", call_malloc}, {"realloc", call_realloc}, {"free", call_free},
		{"calloc", call_calloc}, {"free", call_free}, {"memalign", call_memalign},
		{"free", call_free}};
	size_t first = measure_stack(call_malloc), once = measure_stack(call_free);

	print_line("first-malloc", first);
	print_line("first-free", once);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			print_line(calls[i].name, measure_stack(calls[i].call));
	/* stacks that do not fit one record, walked for the first time and the second */
	for (int round = 0; round < 2; round++) {
		print_line("deep-malloc", measure_deep(300, call_malloc));
		print_line("deep-free", measure_deep(300, call_free));
	}
	return arg;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	free(malloc(10));
	base = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, base, STACK);
	if (pthread_create(&t, &attr, measure_all, NULL) || pthread_join(t, NULL))
		return 1;
	return 0;
}
