/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.c - a timer whose handler allocates while the program does nothing but allocate: most
 * ticks interrupt the unwinder itself. It requests impossible sizes, which glibc refuses before it
 * takes any lock.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static volatile int sink;
static volatile size_t too_much = (size_t)-64;

static void request_too_much(void)
{
	void *volatile p = malloc(too_much);

	if (p)
		abort();
}

__attribute__((noinline)) static void in_handler(int depth)
{
	if (depth > 0)
		in_handler(depth - 1);
	request_too_much();
}

static void on_tick(int sig)
{
	int saved = errno;

	(void)sig;
	ticks++;
	in_handler(3);
	errno = saved;
}

__attribute__((noinline)) static void dig(int depth)
{
	volatile char pad[32];

	pad[depth & 31] = 1;
	request_too_much();
	if (depth > 0)
		dig(depth - 1);
	request_too_much();
	sink += pad[0];
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	static char alt[65536];
	stack_t st = {.ss_sp = alt, .ss_size = sizeof(alt)};
	struct itimerval tick = {{0, 100}, {0, 100}};

	sigaltstack(&st, NULL);
	for (int onstack = 0; onstack < 2; onstack++) {
		struct sigaction sa = {.sa_handler = on_tick, .sa_flags = onstack ? SA_ONSTACK : 0};

		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &tick, NULL);
		ticks = 0;
		for (int i = 0; ticks < rounds; i++)
			dig(i % 30);
	}
	tick = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &tick, NULL);
	return 0;
}
