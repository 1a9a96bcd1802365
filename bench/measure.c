/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - runs a command and prints its cost, including that of every process that it leaves
 * behind.
 *
 *	measure RESULT [NAME=VALUE...] COMMAND [ARGUMENTS]
 *
 * Writes one JSON object to the file RESULT. wall_ns ends with the command itself. began_unix_ns is
 * the start time, for comparison with the times of files. cpu_ns is the user and system time of the
 * command and all its descendants, including those that outlive it (a collector, an interpreter):
 * they become children of this process (subreaper), which waits for the last of them. Each process
 * counts once: the usage that wait4 returns for a process includes only the children that it has
 * waited for.
 *
 * read_bytes is the kernel's count of bytes that the command itself read by read and similar calls;
 * 0 where the kernel does not count. peak_rss is that of the largest process. This is a separate
 * small program because a process inherits the peak of the process it was forked from: Python's
 * peak would hide that of a command. The variables are set for the command only: a preload must not
 * be loaded into this program too.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct cost {
	uint64_t began_unix_ns, wall_ns, cpu_ns, peak_rss, read_bytes;
	int status;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static pid_t start_command(char **command)
{
	pid_t pid = vfork(); /* every wall time includes the process start: keep it short */

	if (pid == 0) {
		execvp(command[0], command);
		_exit(errno == ENOENT ? 127 : 126);
	}
	return pid;
}

/* For a process that has ended and was not yet waited for. */
static uint64_t bytes_read_by(pid_t pid)
{
	char path[64];
	unsigned long long n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "rchar: %llu", &n) != 1)
		n = 0;
	fclose(file);
	return n;
}

static void add_usage(struct cost *c, const struct rusage *u)
{
	uint64_t rss = (uint64_t)u->ru_maxrss * 1024;

	c->cpu_ns += ns(u->ru_utime) + ns(u->ru_stime);
	c->peak_rss = rss > c->peak_rss ? rss : c->peak_rss;
}

static int run_command(char **command, struct cost *c)
{
	uint64_t unix_ns = now_ns(CLOCK_REALTIME), began = now_ns(CLOCK_MONOTONIC);
	pid_t first = start_command(command);
	siginfo_t ended;
	struct rusage u;
	int status;

	if (first < 0)
		return -errno;
	c->began_unix_ns = unix_ns;
	while (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) == 0) {
		if (ended.si_pid == first) {
			c->wall_ns = now_ns(CLOCK_MONOTONIC) - began;
			c->read_bytes = bytes_read_by(first);
		}
		if (wait4(ended.si_pid, &status, 0, &u) < 0)
			return -errno;
		add_usage(c, &u);
		if (ended.si_pid == first)
			c->status =
				WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	return errno == ECHILD ? 0 : -errno;
}

/* Sets the NAME=VALUE arguments and returns the start of the command. */
static char **set_variables(char **arg)
{
	for (; *arg && strchr(*arg, '=') && **arg != '/'; arg++)
		putenv(*arg);
	return arg;
}

int main(int argc, char **argv)
{
	struct cost c = {0};
	char **command = argc > 2 ? set_variables(argv + 2) : NULL;
	FILE *out;
	int err;

	if (!command || !*command) {
		fputs("usage: measure RESULT [NAME=VALUE...] COMMAND [ARGUMENTS]\n", stderr);
		return 2;
	}
	out = fopen(argv[1], "we");
	if (!out) {
		fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(errno));
		return 3;
	}
	signal(SIGCHLD,
		SIG_DFL); /* if it were ignored, the kernel would discard the usage of children */
	err = prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? -errno : run_command(command, &c);
	if (err) {
		fprintf(stderr, "measure: %s: %s\n", *command, strerror(-err));
		fclose(out);
		return 3;
	}
	fprintf(out,
		"{\"status\":%d,\"wall_ns\":%" PRIu64 ",\"began_unix_ns\":%" PRIu64
		",\"cpu_ns\":%" PRIu64 ",\"peak_rss\":%" PRIu64 ",\"read_bytes\":%" PRIu64 "}\n",
		c.status, c.wall_ns, c.began_unix_ns, c.cpu_ns, c.peak_rss, c.read_bytes);
	return fclose(out) == 0 ? 0 : 3;
}
