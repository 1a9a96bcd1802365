/* SPDX-License-Identifier: Apache-2.0 */
/* jump.c - longjmp over many frames, and siglongjmp out of handlers that interrupt any code. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static jmp_buf out;
static sigjmp_buf sigout;
static volatile sig_atomic_t armed, jumps;
static volatile int sink;

static void use_block(void *p)
{
	*(volatile char *)p = 1;
	sink++;
	free(p);
}

__attribute__((noinline)) static void sink_into(int depth, int jump_at)
{
	volatile char pad[64];

	pad[depth & 63] = 1;
	use_block(malloc((size_t)depth + 1));
	if (depth == jump_at)
		longjmp(out, depth + 1);
	if (depth > 0)
		sink_into(depth - 1, jump_at);
	use_block(malloc(7));
	sink += pad[0];
}

/*
 * Only where no allocator lock can be held: the program spins without allocating, or is in pure
 * code.
 */
static void on_alarm(int sig)
{
	(void)sig;
	if (armed) {
		armed = 0;
		jumps++;
		siglongjmp(sigout, 1);
	}
}

__attribute__((noinline)) static int spin(int depth)
{
	volatile int n = 0;

	use_block(malloc(9));
	if (depth > 0)
		return spin(depth - 1) + n;
	armed = 1;
	for (long i = 0; i < 2000000000L && armed; i++)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	struct sigaction sa = {.sa_handler = on_alarm};
	struct itimerval tick = {{0, 1000}, {0, 1000}}, stop = {{0, 0}, {0, 0}};

	for (volatile int r = 0; r < rounds * 10; r++) {
		if (!setjmp(out))
			sink_into(3 + r % 40, r % 37);
		use_block(malloc(11));
	}
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	for (volatile int r = 0; r < rounds; r++) {
		if (!sigsetjmp(sigout, 1))
			spin(r % 25);
		use_block(malloc(13));
	}
	setitimer(ITIMER_REAL, &stop, NULL);
	return jumps == 0;
}
