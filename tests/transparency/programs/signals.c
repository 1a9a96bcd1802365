/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.c - prints the signals that arrive, until SIGTERM: then it exits with 7. With an argument
 * it does not handle that signal and is killed by it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const int wanted[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGCONT,
		SIGALRM, SIGWINCH, SIGPROF, SIGVTALRM, SIGIO, SIGPWR};
	sigset_t set;
	int sig;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (argc < 2 || atoi(argv[1]) != wanted[i])
			sigaddset(&set, wanted[i]);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (sigwait(&set, &sig) == 0) {
		free(malloc(10));
		printf("%s\n", sig == SIGRTMIN + 3 ? "RTMIN+3" : sigabbrev_np(sig));
		fflush(stdout);
		if (sig == SIGTERM)
			return 7;
	}
	return 1;
}
