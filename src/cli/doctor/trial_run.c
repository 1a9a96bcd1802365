/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial_run.c - makes a short recording to test whether all parts work together.
 *
 * The recording is in a temporary directory next to the path of the trace, because file systems
 * differ. The directory is removed afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/machine.h"
#include "cli/record/record_options.h"

#define TRIAL_MS 20000
#define SELF     "/proc/self/exe"
#define SUBJECT  "/bin/true"

struct trial {
	int dir_fd;         /* the parent directory */
	char name[64];      /* of the temporary directory in it */
	char trace[80];     /* path of the trace in that */
	char message[1024]; /* first line of the command's stderr */
};

/* Runs in the child: executes our own command without the settings of the user. */
static void run_self(const struct trial *t, int out, char *const *argv)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (const struct hl_opt *o = hl_record_opts; o->long_name; o++) {
		char name[64];

		hl_record_env_name(name, sizeof(name), o->long_name);
		unsetenv(name);
	}
	unsetenv("HEAPLAPSE_SOCKET");
	if (fchdir(t->dir_fd) == 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(out, 2) == 2)
		execv(SELF, argv);
	_exit(127);
}

/* Reads the output up to its end. Returns false after TRIAL_MS without output. */
static bool read_message(struct trial *t, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t at = 0;
	ssize_t n = 0;
	char ignored[256];

	do {
		if (poll(&p, 1, TRIAL_MS) <= 0)
			return false;
		n = at < sizeof(t->message) - 1
			    ? read(fd, t->message + at, sizeof(t->message) - 1 - at)
			    : read(fd, ignored, sizeof(ignored));
		if (n > 0 && at < sizeof(t->message) - 1)
			at += (size_t)n;
	} while (n > 0);
	t->message[at] = '\0';
	t->message[strcspn(t->message, "\n")] = '\0';
	return true;
}

/* Returns the exit status; -1 if there is none. */
static int run_command(struct trial *t, char *const *argv)
{
	int pair[2], status = -1;
	bool ended;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run_self(t, pair[1], argv);
	close(pair[1]);
	ended = pid > 0 && read_message(t, pair[0]);
	close(pair[0]);
	if (pid > 0 && !ended)
		kill(pid, SIGTERM);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns false if no directory can be created. That needs no message, because the output was
 * checked before. */
static bool make_directory(struct trial *t, const struct record_options *o, const char *program)
{
	struct timespec now;

	t->dir_fd = hl_machine_open_output_dir(o, program);
	if (t->dir_fd < 0)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(t->name, sizeof(t->name), ".heaplapse-doctor-%d-%lx", (int)getpid(),
		(unsigned long)now.tv_nsec);
	snprintf(t->trace, sizeof(t->trace), "%s/x.hlt", t->name);
	if (mkdirat(t->dir_fd, t->name, 0700) == 0)
		return true;
	close(t->dir_fd);
	return false;
}

static void remove_directory(struct trial *t)
{
	unlinkat(t->dir_fd, t->trace, 0);
	unlinkat(t->dir_fd, t->name, AT_REMOVEDIR);
	close(t->dir_fd);
}

void hl_machine_trial_run(
	struct hl_findings *f, const struct record_options *o, const char *program)
{
	struct trial t = {.dir_fd = -1};
	char *argv0 = (char *)(uintptr_t) "heaplapse", *subject = (char *)(uintptr_t)SUBJECT;
	char force[] = "--force", record[] = "record", info[] = "info", strict[] = "--strict",
	     to[] = "-o", quiet[] = "-q";
	char *const recording[] = {
		argv0, record, quiet, o->force ? force : quiet, to, t.trace, subject, NULL};
	char *const checking[] = {argv0, info, strict, t.trace, NULL};
	int status;

	if (access(SUBJECT, X_OK) < 0 || !make_directory(&t, o, program))
		return;
	status = run_command(&t, recording);
	if (status == 0 && !t.message[0])
		status = run_command(&t, checking);
	if (status == 0 && !t.message[0])
		hl_findings_add(f, HL_VERDICT_OK, "trial", NULL,
			"a short recording of " SUBJECT " succeeded and was removed");
	else
		hl_findings_add(f, HL_VERDICT_FAILS, "trial",
			"fix the problems listed above; if there are none, please report a bug",
			"a short recording failed (status %d)%s%s", status,
			t.message[0] ? ": " : "", t.message);
	remove_directory(&t);
}
