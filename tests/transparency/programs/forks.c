/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks.c - forks N: four threads allocate without a pause while the main thread forks N children,
 * each of which allocates 100 blocks of 2000 bytes, frees them, and ends. A child that has not
 * ended after 60 s hangs: it is killed and counted. Prints how many ended with status 0, and how
 * many hung.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool over;

static void *run_busy(void *arg)
{
	while (!over) {
		free(malloc((size_t)rand_r(arg) % 3000));
		free(calloc(1, 64));
	}
	return NULL;
}

static void run_child(int number)
{
	void *blocks[100];

	for (int i = 0; i < 100; i++)
		blocks[i] = malloc(2000);
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
	if (number % 2)
		exit(0);
	_exit(0);
}

static int wait_for_end(pid_t pid)
{
	int status;

	for (int i = 0; i < 60000; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : -1;
		usleep(i < 100 ? 100 : 1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 0;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), good = 0, hung = 0;
	unsigned seeds[4] = {1, 2, 3, 4};
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, run_busy, &seeds[i]))
			return 1;
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		int how;

		if (pid == 0)
			run_child(i);
		how = pid > 0 ? wait_for_end(pid) : -1;
		good += how == 1;
		hung += how == 0;
	}
	over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	dprintf(1, "%d %d\n", good, hung);
	return 0;
}
