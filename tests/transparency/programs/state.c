/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.c - prints what a program can see of its own process: descriptors, environment, signals,
 * threads, children. Twice: at the start and at the end. Both must be the same with a recorder.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_environment(void)
{
	char *sorted[1024];
	size_t n = 0;

	while (environ[n] && n < 1024) {
		sorted[n] = environ[n];
		n++;
	}
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < n; i++)
		printf("env %s\n", sorted[i]);
}

static void print_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;

	while ((e = readdir(d))) {
		char target[512] = "";

		if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(d))
			continue;
		if (readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1) < 0)
			strcpy(target, "?");
		/* The numbers of pipes differ from run to run. */
		target[strcspn(target, "[")] = '\0';
		printf("fd %s %s\n", e->d_name, target);
	}
	printf("next fd %d\n", dirfd(d));
	closedir(d);
}

static void print_status(void)
{
	static const char *const wanted[] = {"SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt",
		"Threads", "Umask", "CoreDumping", "NoNewPrivs", "Seccomp"};
	FILE *f = fopen("/proc/self/status", "r");
	char line[512];

	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])) &&
				line[strlen(wanted[i])] == ':')
				fputs(line, stdout);
	fclose(f);
}

static void print_children(void)
{
	FILE *f = fopen("/proc/thread-self/children", "r");
	char line[512] = "";

	if (f && fgets(line, sizeof(line), f))
		printf("children %s\n", line);
	if (f)
		fclose(f);
	errno = 0;
	if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD)
		printf("a child\n");
}

static void print_limits(void)
{
	stack_t alt;

	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit l;

		getrlimit(i, &l);
		printf("limit %d %lld %lld\n", i, (long long)l.rlim_cur, (long long)l.rlim_max);
	}
	sigaltstack(NULL, &alt);
	printf("alternate stack %d, nice %d, session %d, group %d\n", alt.ss_flags,
		getpriority(PRIO_PROCESS, 0), getsid(0) == getpid(), getpgrp() == getpid());
}

static void print_all(const char *when)
{
	char cwd[4096];

	printf("-- %s\n", when);
	print_descriptors();
	print_status();
	print_children();
	print_limits();
	printf("cwd %s\n", getcwd(cwd, sizeof(cwd)));
}

static void at_end(void)
{
	print_all("end");
}

int main(int argc, char **argv)
{
	atexit(at_end);
	print_environment();
	print_all("start");
	for (int i = 0; i < argc; i++)
		printf("argv %s\n", argv[i]);
	for (int i = 0; i < 1000; i++)
		free(malloc(100));
	return 0;
}
