/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks.c - forks children one after another, each of which allocates a little and ends.
 *
 *	forks CHILDREN [BLOCKS [AT-ONCE]]
 *
 * At most AT-ONCE (1) children run at once. A child allocates and frees BLOCKS (20) blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void run_child(long blocks)
{
	for (long i = 0; i < blocks; i++) {
		char *volatile p = malloc((size_t)(16 + i % 64 * 8));

		if (!p)
			_exit(1);
		free(p);
	}
	_exit(0);
}

static int reap(void)
{
	int status = 0;

	return wait(&status) < 0 || status != 0;
}

int main(int argc, char **argv)
{
	long children = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	long blocks = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
	long most = argc > 3 ? strtol(argv[3], NULL, 10) : 1, alive = 0;
	int failed = 0;

	if (children <= 0 || most <= 0) {
		fprintf(stderr, "usage: forks CHILDREN [BLOCKS [AT-ONCE]]\n");
		return 2;
	}
	free(malloc(1000));
	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0)
			run_child(blocks);
		if (pid < 0)
			failed = 1;
		else if (++alive == most) {
			failed |= reap();
			alive--;
		}
	}
	while (alive-- > 0)
		failed |= reap();
	return failed;
}
