/*
 * machine_try.c - a short recording, to see whether all parts find one another.
 *
 * It lies in a folder of its own, beside where the trace would be, because file systems differ; the
 * folder is gone afterwards.
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

#include "cli/machine.h"
#include "cli/record_options.h"

#define TRIAL_MS 20000
#define SELF     "/proc/self/exe"
#define SUBJECT  "/bin/true"

struct trial {
	int folder;      /* where it takes place */
	char name[64];   /* of the folder in it */
	char trace[80];  /* in that */
	char said[1024]; /* what the command had to say */
};

/* In the child: the command of ours, without the user's settings. */
static void run_self(const struct trial *t, int out, char *const *argv)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (const struct hl_opt *o = hl_record_opts; o->long_name; o++) {
		char name[64];

		hl_record_env_name(name, sizeof(name), o->long_name);
		unsetenv(name);
	}
	unsetenv("HEAPLAPSE_SOCKET");
	if (fchdir(t->folder) == 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(out, 2) == 2)
		execv(SELF, argv);
	_exit(127);
}

/* What it says, until it has no more to say; at most TRIAL_MS. */
static bool listen_to(struct trial *t, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t at = 0;
	ssize_t n = 0;
	char rest[256];

	do {
		if (poll(&p, 1, TRIAL_MS) <= 0)
			return false;
		n = at < sizeof(t->said) - 1 ? read(fd, t->said + at, sizeof(t->said) - 1 - at)
					     : read(fd, rest, sizeof(rest));
		if (n > 0 && at < sizeof(t->said) - 1)
			at += (size_t)n;
	} while (n > 0);
	t->said[at] = '\0';
	t->said[strcspn(t->said, "\n")] = '\0';
	return true;
}

/* The exit status; -1 when there is none. */
static int run(struct trial *t, char *const *argv)
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
	ended = pid > 0 && listen_to(t, pair[0]);
	close(pair[0]);
	if (pid > 0 && !ended)
		kill(pid, SIGTERM);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* False: no folder, which is not worth a word, for the output was looked at before. */
static bool prepare(struct trial *t, const struct record_options *o, const char *program)
{
	struct timespec now;

	t->folder = hl_machine_folder(o, program);
	if (t->folder < 0)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(t->name, sizeof(t->name), ".heaplapse-doctor-%d-%lx", (int)getpid(),
		(unsigned long)now.tv_nsec);
	snprintf(t->trace, sizeof(t->trace), "%s/x.hlt", t->name);
	if (mkdirat(t->folder, t->name, 0700) == 0)
		return true;
	close(t->folder);
	return false;
}

static void clean_up(struct trial *t)
{
	unlinkat(t->folder, t->trace, 0);
	unlinkat(t->folder, t->name, AT_REMOVEDIR);
	close(t->folder);
}

void hl_machine_try(struct hl_findings *f, const struct record_options *o, const char *program)
{
	struct trial t = {.folder = -1};
	char *word = (char *)(uintptr_t) "heaplapse", *subject = (char *)(uintptr_t)SUBJECT;
	char force[] = "--force", record[] = "record", info[] = "info", strict[] = "--strict",
	     to[] = "-o", quiet[] = "-q";
	char *const recording[] = {
		word, record, quiet, o->force ? force : quiet, to, t.trace, subject, NULL};
	char *const checking[] = {word, info, strict, t.trace, NULL};
	int status;

	if (access(SUBJECT, X_OK) < 0 || !prepare(&t, o, program))
		return;
	status = run(&t, recording);
	if (status == 0 && !t.said[0])
		status = run(&t, checking);
	if (status == 0 && !t.said[0])
		hl_findings_add(f, HL_VERDICT_OK, "trial", NULL,
			"a short recording, of " SUBJECT
			", was made, is complete, and is removed again");
	else
		hl_findings_add(f, HL_VERDICT_FAILS, "trial",
			"mend what is said above; else please report it",
			"a short recording did not succeed (status %d)%s%s", status,
			t.said[0] ? ": " : "", t.said);
	clean_up(&t);
}
