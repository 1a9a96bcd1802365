/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toggled.c - prints what a program sees of a signal that steers its recording.
 *
 *	toggled default | two | handler | ignore
 *
 * default: sends itself SIGUSR1 and survives if the recorder handles it. two: SIGUSR1 before and
 * SIGUSR2 after. handler and ignore: sets its own disposition by signal() or sigset(), and prints
 * the return value and how often the handler was called.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* sigset is deprecated, but old programs use it. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile sig_atomic_t calls;

static void on_signal(int sig)
{
	calls++;
}

static const char *name_of(void (*h)(int))
{
	return h == SIG_DFL     ? "default"
	       : h == SIG_IGN   ? "ignore"
	       : h == on_signal ? "mine"
				: "strange";
}

static void sleep_briefly(void)
{
	struct timespec t = {.tv_nsec = 100000000};

	while (nanosleep(&t, &t) < 0)
		;
}

static void show(const char *what)
{
	const int restorer = 0x04000000; /* set by libc, and returned by the kernel */
	struct sigaction now;

	memset(&now, 0xff, sizeof(now));
	sigaction(SIGUSR1, NULL, &now);
	printf("%s %s flags %d\n", what, name_of(now.sa_handler), now.sa_flags & ~restorer);
}

static void churn(int n, size_t size)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = malloc(size);

		free(p);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "default";

	setvbuf(stdout, NULL, _IONBF, 0);
	show("before");
	churn(10, 3001);
	if (!strcmp(how, "handler"))
		printf("signal %s\n", name_of(signal(SIGUSR1, on_signal)));
	if (!strcmp(how, "ignore"))
		printf("sigset %s\n", name_of(sigset(SIGUSR1, SIG_IGN)));
	show("after");
	raise(SIGUSR1); /* pause, unless the program has its own handler */
	sleep_briefly();
	churn(10, 3002);
	raise(SIGUSR2);
	if (strcmp(how, "two") != 0)
		raise(SIGUSR1);
	sleep_briefly();
	churn(10, 3003);
	printf("calls %d\n", (int)calls);
	return 0;
}
