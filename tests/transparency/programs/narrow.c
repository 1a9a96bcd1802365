/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow.c - allocates with little stack space: blocks of 5000 bytes, each freed.
 *
 *	narrow altstack BYTES N   in a handler on an alternate stack of BYTES bytes, N times
 *	narrow thread BYTES N     in N threads with stacks of BYTES bytes, as deep as possible
 *	narrow keys N             in the destructors of N threads' data, four rounds each
 *	narrow storm PAIRS        in a handler that interrupts malloc and free; needs bump.c
 *	narrow jump PAIRS         the same, and it sometimes leaves by siglongjmp
 *	narrow parts PAIRS        the same, out of stacks of 300 frames: 201 bytes are made below
 *	                          left(), 202 below right(), 77 below neither
 *	narrow outgrow RUNS       in a handler that runs RUNS times on ever deeper stacks, on top
 *	                          of those it interrupts, which grow as well
 *
 * Prints the number of blocks of 5000 bytes; others are not counted.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_long made;
static volatile sig_atomic_t runs, jumps, armed;
static sigjmp_buf back;
static int jumping, parts;

static void make_pair(void)
{
	void *volatile p = malloc(5000);

	made++;
	free(p);
}

static int deep, enough; /* of `outgrow`: current frames, and runs of the handler */

static __attribute__((noinline)) void pair_below(int frames)
{
	volatile int left = frames;

	if (left > 0)
		pair_below(left - 1);
	else
		make_pair();
	left++;
}

static void on_signal(int sig)
{
	(void)sig;
	if (enough && runs >= enough)
		return; /* it takes longer than the interval between signals: the program must make
			   progress */
	pair_below(deep);
	runs++;
	if (jumping && armed && runs % 5 == 0) {
		armed = 0;
		jumps++;
		siglongjmp(back, 1);
	}
}

static int on_altstack(size_t size, int n)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	/* between inaccessible pages */
	char *memory = mmap(NULL, 64 << 10, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = memory + (32 << 10), .ss_size = size};

	if (mprotect(stack.ss_sp, size, PROT_READ | PROT_WRITE) || sigaltstack(&stack, NULL))
		return 1;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < n; i++)
		raise(SIGUSR1);
	return 0;
}

/* Recurses until only libc's own malloc, the recorder's 2 KiB and a little more fit. */
static __attribute__((noinline)) void recurse_to_end(const char *bottom)
{
	volatile char here[256];

	here[0] = 1;
	if ((char *)here - bottom > 6 * 1024)
		recurse_to_end(bottom);
	else
		make_pair();
	here[1] = here[0];
}

static void *run_thread(void *arg)
{
	pthread_attr_t attr;
	void *bottom;
	size_t size;

	make_pair();
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &bottom, &size);
	pthread_attr_destroy(&attr);
	recurse_to_end(bottom);
	return arg;
}

static pthread_key_t key;

static void destroy(void *value)
{
	make_pair();
	if ((intptr_t)value < 4) /* libc runs the destructors four times */
		pthread_setspecific(key, (void *)((intptr_t)value + 1));
}

static void *with_key(void *arg)
{
	pthread_setspecific(key, (void *)1);
	return arg;
}

static int threads(void *(*run)(void *), size_t stack, int n)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (stack && pthread_attr_setstacksize(&attr, stack))
		return 1;
	for (int i = 0; i < n; i++) {
		pthread_t t;

		if (pthread_create(&t, &attr, run, NULL) || pthread_join(t, NULL))
			return 2;
	}
	return 0;
}

#define DEEP 300

static __attribute__((noinline)) void left(int depth)
{
	volatile int again = depth;

	if (depth > 0)
		left(depth - 1);
	else
		free(malloc(201));
	again = depth; /* no tail call */
	(void)again;
}

static __attribute__((noinline)) void right(int depth)
{
	volatile int again = depth;

	if (depth > 0)
		right(depth - 1);
	else
		free(malloc(202));
	again = depth;
	(void)again;
}

/* At another depth each time: then frames are sent, and the ones sent before them matter. */
static __attribute__((noinline)) void recurse_randomly(unsigned way)
{
	volatile unsigned again = way;

	if (way < 2)
		free(malloc(77));
	else
		recurse_randomly(way >> 1);
	again = way;
	(void)again;
}

static void deep_or_not(long i)
{
	static unsigned random = 1;

	random = random * 1103515245 + 12345;
	if (i % 4 == 0)
		left(DEEP);
	else if (i % 4 == 2)
		right(DEEP);
	else
		recurse_randomly(random >> 16);
}

static int storm(long pairs)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 150}, {0, 150}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (volatile long i = 0; i < pairs || runs < 200 || (jumping && jumps < 20); i++) {
		if (jumping && sigsetjmp(back, 1))
			continue;
		armed = 1;
		if (parts)
			deep_or_not(i);
		else
			free(malloc(77));
		armed = 0;
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	return 0;
}

/* The recorder's memory for stacks is doubled at each of these. */
static int outgrow(int times)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 300}, {0, 300}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	enough = times;
	for (deep = 500; deep < 20000; deep = deep * 9 / 4)
		for (runs = 0; runs < times;) {
			pair_below(deep);
			make_pair();
		}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	int err = 99;

	free(malloc(10)); /* resolves the symbol here, not on a small stack */
	if (!strcmp(argv[1], "altstack"))
		err = on_altstack((size_t)atol(argv[2]), atoi(argv[3]));
	else if (!strcmp(argv[1], "thread"))
		err = threads(run_thread, (size_t)atol(argv[2]), atoi(argv[3]));
	else if (!strcmp(argv[1], "keys") && pthread_key_create(&key, destroy) == 0)
		err = threads(with_key, 0, atoi(argv[2]));
	else if (!strcmp(argv[1], "outgrow"))
		err = outgrow(atoi(argv[2]));
	else {
		parts = !strcmp(argv[1], "parts");
		jumping = parts || !strcmp(argv[1], "jump");
		if (jumping || !strcmp(argv[1], "storm"))
			err = storm(atol(argv[2]));
	}
	dprintf(1, "%ld\n", (long)made);
	return err;
}
