/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execs.c - executes programs in every possible way, then prints its environment and executes env,
 * which prints it too. Three blocks of 3001 bytes stay.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *kept[3];

static int wait_for(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(void)
{
	char *argv[] = {(char *)"true", NULL}, *last[] = {(char *)"env", NULL};
	int bad = 0;
	pid_t pid;
	FILE *f;

	for (int i = 0; i < 3; i++)
		kept[i] = malloc(3001);
	bad |= system("true");
	f = popen("true", "r");
	bad |= pclose(f);
	bad |= posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) || wait_for(pid);
	pid = fork();
	if (pid == 0)
		execve("/bin/true", argv, environ);
	bad |= wait_for(pid);
	pid = fork();
	if (pid == 0)
		execvp("true", argv);
	bad |= wait_for(pid);
	printf("bad %d, %s\n", bad, getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
	fflush(stdout);
	execvp("env", last);
	return 1;
}
