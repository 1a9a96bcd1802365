/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler.c - a loop of malloc and free under frequent signals whose handler makes events too: only
 * calls that are allowed in a handler (mmap, munmap, heaplapse_mark), so that every count is exact.
 *
 *	handler PAIRS [alt|jump|deep|sites]
 *
 * alt: the handler runs on an alternate stack. jump: it sometimes leaves by siglongjmp. deep: the
 * same, from calls at several alternating depths of the stack. sites: blocks of 77 bytes are
 * allocated by left(), of 78 by right(). Prints the number of allocations and of completed handler
 * runs.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "heaplapse.h"

#define ENOUGH_JUMPS 30

static volatile sig_atomic_t runs, jumps, armed;
static sigjmp_buf back;
static int jumping, deep;

static void on_signal(int sig)
{
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)sig;
	heaplapse_mark("in the handler");
	munmap(p, 8192);
	runs++;
	if (jumping && armed && runs % (deep ? 2 : 7) == 0) {
		armed = 0;
		jumps++;
		siglongjmp(back, 1);
	}
}

/* Not inside malloc or free: a jump out of those is forbidden. It may be inside heaplapse_mark. */
static void set_marks(void)
{
	if (sigsetjmp(back, 1))
		return;
	armed = 1;
	for (int i = 0; i < 2000; i++)
		heaplapse_mark("outside");
	armed = 0;
}

/* Below frames that a jump leaves. */
static void recurse(int depth)
{
	volatile char room[3000];

	room[0] = (char)depth;
	if (depth > 0)
		recurse(depth - 1);
	else
		set_marks();
	room[1] = room[0];
}

static __attribute__((noinline)) void *left(void)
{
	void *volatile p = malloc(77);

	return p;
}

static __attribute__((noinline)) void *right(void)
{
	void *volatile p = malloc(78);

	return p;
}

int main(int argc, char **argv)
{
	long pairs = atol(argv[1]), made = 0;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 200}, {0, 200}};
	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};

	int sites = argc > 2 && !strcmp(argv[2], "sites");

	heaplapse_mark("first");
	deep = argc > 2 && !strcmp(argv[2], "deep");
	jumping = deep || (argc > 2 && !strcmp(argv[2], "jump"));
	if (argc > 2 && !strcmp(argv[2], "alt")) {
		sigaltstack(&alternate, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	/* On a busy machine signals arrive late: the loop continues until there were enough. */
	for (; made < pairs || (jumping && jumps < ENOUGH_JUMPS); made++) {
		void *volatile p = sites && made % 2 ? right() : left();

		free(p);
		if (jumping && made % (deep ? 20 : 1000) == 0)
			recurse(deep ? (int)(made / 20 % 5) : 0);
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	fprintf(stderr, "%ld %d %d\n", made, (int)runs, (int)jumps);
	return 0;
}
