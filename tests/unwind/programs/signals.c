/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - handlers that allocate, on the normal and on the alternate stack, raised and by
 * timers that interrupt any instruction. malloc in a handler is wrong in general; here the timers
 * interrupt computation that does not allocate.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile int sink;
static volatile sig_atomic_t ticks;

static void use_block(void *p)
{
	*(volatile char *)p = 1;
	sink++;
	free(p);
}

__attribute__((noinline)) static void in_handler(int depth)
{
	if (depth > 0)
		in_handler(depth - 1);
	use_block(malloc((size_t)depth + 5));
}

static void on_raise(int sig)
{
	in_handler(sig == SIGUSR1 ? 3 : 5);
	if (sig == SIGUSR1)
		raise(SIGUSR2); /* nested, on the alternate stack */
	use_block(malloc(3));
}

static void on_tick(int sig)
{
	(void)sig;
	ticks++;
	in_handler(2);
}

__attribute__((noinline)) static void raiser(int depth)
{
	volatile char pad[40];

	pad[depth & 31] = pad[0] = 1;
	use_block(malloc(16));
	if (depth > 0)
		raiser(depth - 1);
	else
		raise(SIGUSR1);
	use_block(malloc(17));
	if (depth % 3 == 0)
		raise(SIGUSR2);
	sink += pad[0];
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

/* Pure computation with many kinds of frames and PLT calls, for the timer to interrupt. */
__attribute__((noinline)) static unsigned compute(int depth, unsigned x)
{
	char text[64], rows[32][16];

	if (depth > 0)
		return compute(depth - 1, x * 31u + 7u) + 1;
	for (int i = 0; i < 32; i++)
		memset(rows[i], (int)(x >> (i % 24)), 16);
	qsort(rows, 32, 16, compare); /* small: it sorts on the stack */
	strncpy(text, "some text of no meaning", sizeof(text));
	return x + (unsigned)strlen(text) + (unsigned char)rows[7][3];
}

static void *run_thread(void *arg)
{
	static _Thread_local char alt[65536];
	stack_t st = {.ss_sp = alt, .ss_size = sizeof(alt)};

	sigaltstack(&st, NULL);
	for (int i = 0; i < *(int *)arg; i++)
		raiser(i % 12);
	return NULL;
}

static void run_timers(int flags, int wanted)
{
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = flags};
	struct itimerval tick = {{0, 100}, {0, 100}}, stop = {{0, 0}, {0, 0}};
	unsigned x = 1;

	ticks = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	while (ticks < wanted)
		x = compute((int)(x % 20), x * 2654435761u);
	setitimer(ITIMER_REAL, &stop, NULL);
	sink += (int)x;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	struct sigaction one = {.sa_handler = on_raise},
			 two = {.sa_handler = on_raise, .sa_flags = SA_ONSTACK};
	static char alt[65536];
	stack_t st = {.ss_sp = alt, .ss_size = sizeof(alt)};
	pthread_t t;

	sigaltstack(&st, NULL);
	sigaction(SIGUSR1, &one, NULL);
	sigaction(SIGUSR2, &two, NULL);
	for (int i = 0; i < rounds; i++)
		raiser(i % 20);
	pthread_create(&t, NULL, run_thread, &rounds);
	run_thread(&rounds);
	pthread_join(t, NULL);
	sigaltstack(&st, NULL);
	run_timers(0, rounds * 2);
	run_timers(SA_ONSTACK, rounds * 2);
	return 0;
}
