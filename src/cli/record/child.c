/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - see child.h.
 *
 * The child waits in a pipe until we know that its outputs can be written; then it becomes the
 * program. We leave its process group, so that it gets each signal once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/record/child.h"
#include "cli/record/collector_link.h"
#include "cli/record/gdb.h"
#include "cli/record/record_output.h"
#include "util/procfs.h"

/* Runs gdb in place of the program; s->gdb is executed. Returns only on failure. */
static void run_gdb(struct record_session *s, const char *preload, char **argv)
{
	struct hl_gdb_start start = {.options = s->o->gdb_options,
		.preload = preload,
		.socket = s->listener.address,
		.program = s->target.path,
		.args = argv};
	char **command = hl_gdb_command(&start);

	if (command)
		execv(s->gdb, command);
}

/* Timers survive an exec but not a fork. The timers we were started with belong to the program. */
static void save_timers(struct record_session *s)
{
	struct itimerval none = {0};

	for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++)
		setitimer(i, &none, &s->timers[i]);
}

/* Pending signals survive an exec but not a fork. Signals that arrived until now belong to the
 * program. */
static void save_pending_signals(struct record_session *s, bool collector_runs)
{
	struct timespec now = {0};
	sigset_t set;

	sigfillset(&set);
	if (collector_runs)
		sigdelset(&set, SIGCHLD); /* may be about the collector */
	while (s->n_pending < HL_ARRAY_LEN(s->pending) &&
		sigtimedwait(&set, &s->pending[s->n_pending], &now) > 0)
		s->n_pending++;
}

/* Called in the child, with all signals blocked. */
static void requeue_pending_signals(struct record_session *s)
{
	for (size_t i = 0; i < s->n_pending; i++)
		syscall(SYS_rt_sigqueueinfo, getpid(), s->pending[i].si_signo, &s->pending[i]);
}

void hl_child_raise_file_limit(struct record_session *s)
{
	struct rlimit max;

	if (getrlimit(RLIMIT_NOFILE, &s->file_limit) < 0)
		return;
	max = (struct rlimit){s->file_limit.rlim_max, s->file_limit.rlim_max};
	setrlimit(RLIMIT_NOFILE, &max);
}

void hl_child_restore_file_limit(const struct record_session *s)
{
	if (s->file_limit.rlim_max)
		setrlimit(RLIMIT_NOFILE, &s->file_limit);
}

/* The file of -o belongs to the program that we start, and to the images that it becomes by
 * exec. */
static void export_owner_pid(const struct record_options *o)
{
	char pid[24];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (o->tags_output && !o->gdb)
		setenv("HEAPLAPSE_STATS_PID", pid, 1);
}

/* Runs in the child, up to its exec. */
static void run_child(
	struct record_session *s, int argc, char **argv, int start_pipe, int error_pipe)
{
	const char *old = getenv("LD_PRELOAD");
	char *preload, byte;
	int err;

	if (read(start_pipe, &byte, 1) != 1)
		_exit(HL_EXIT_CANNOT_RECORD); /* the parent gave up */
	export_owner_pid(s->o);
	if (asprintf(&preload, "%s%s%s", s->library, old && *old ? ":" : "", old ? old : "") < 0)
		_exit(HL_EXIT_CANNOT_RECORD);
	sigaction(SIGCHLD, &s->old_chld, NULL);
	for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++)
		setitimer(i, &s->timers[i], NULL);
	requeue_pending_signals(s);
	hl_child_restore_file_limit(s);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	if (s->o->gdb) {
		run_gdb(s, preload, argv);
	} else {
		setenv("LD_PRELOAD", preload, 1);
		setenv("HEAPLAPSE_SOCKET", s->listener.address, 1);
		execv(s->target.path, argv);
	}
	err = errno;
	if (err == ENOEXEC && !s->o->gdb) { /* as execvp does: a script without a #! line */
		char **sh = calloc((size_t)argc + 2, sizeof(*sh));

		if (!sh)
			_exit(HL_EXIT_CANNOT_RECORD);
		sh[0] = (char *)(uintptr_t) "/bin/sh";
		sh[1] = s->target.path;
		memcpy(sh + 2, argv + 1, (size_t)argc * sizeof(*sh));
		execv(sh[0], sh);
	}
	if (write(error_pipe, &err, sizeof(err)) < 0)
		_exit(HL_EXIT_CANNOT_RECORD);
	_exit(HL_EXIT_NOT_EXECUTABLE);
}

int hl_child_start(struct record_session *s, int argc, char **argv)
{
	int start_pipe[2], error_pipe[2], err = 0, log_err, status;
	char byte = 1, why[HL_RECORD_SENTENCE];

	save_timers(s);
	save_pending_signals(s, true);
	if (pipe2(start_pipe, O_CLOEXEC) < 0 || pipe2(error_pipe, O_CLOEXEC) < 0 ||
		(s->child = fork()) < 0) {
		hl_cli_error("cannot start %s: %s%s", argv[0], strerror(errno),
			hl_record_error_advice(-errno));
		return HL_EXIT_CANNOT_RECORD;
	}
	if (s->child == 0) {
		close(start_pipe[1]);
		run_child(s, argc, argv, start_pipe[0], error_pipe[1]);
	}
	close(start_pipe[0]);
	close(error_pipe[1]);
	if (hl_record_uses_output(s->o))
		err = hl_trace_output_check(
			&s->o->collect.output, s->target.path, (uint64_t)s->child, s->first_trace);
	log_err = err ? 0 : hl_churn_log_check(s->o, s->target.path);
	if (log_err) {
		close(start_pipe[1]);
		waitpid(s->child, &status, 0);
		hl_cli_error("--churn-log: cannot write %s: %s; choose another file",
			s->o->collect.output.churn_log, hl_churn_log_error_text(log_err));
		return HL_EXIT_CANNOT_RECORD;
	}
	if (!err && hl_record_check_log_file(why, sizeof(why), s->o, s->target.path,
			    (uint64_t)s->child, "--log-file") < 0) {
		close(start_pipe[1]);
		waitpid(s->child, &status, 0);
		hl_cli_error("%s", why);
		return HL_EXIT_CANNOT_RECORD;
	}
	hl_collector_link_send_first(s);
	if (!err && write(start_pipe[1], &byte, 1) == 1) {
		close(start_pipe[1]);
		if (read(error_pipe[0], &err, sizeof(err)) != sizeof(err))
			err = 0;
		close(error_pipe[0]);
		if (!err)
			return 0;
		hl_cli_error("cannot run %s: %s", s->o->gdb ? "gdb" : s->target.path,
			s->o->gdb && err == EINVAL ? "a quote in --gdb-options is not closed"
						   : strerror(err));
		waitpid(s->child, &status, 0);
		return err == ENOENT ? HL_EXIT_NOT_FOUND : HL_EXIT_NOT_EXECUTABLE;
	}
	close(start_pipe[1]);
	waitpid(s->child, &status, 0);
	hl_record_print_output_error(s->o, err);
	return HL_EXIT_CANNOT_RECORD;
}

int hl_child_block_signals(struct record_session *s)
{
	struct sigaction normal = {.sa_handler = SIG_DFL};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &s->old_mask);
	save_pending_signals(s, false);
	/* A process that ignores SIGCHLD, as some callers make us do, is not notified of ended
	 * children. */
	sigaction(SIGCHLD, &normal, &s->old_chld);
	s->signal_fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signal_fd < 0 ? -errno : 0;
}

/* Signals of the terminal reach the program directly. Signals that other processes send to us are
 * meant for the program. */
static void forward_signal(struct record_session *s, const struct signalfd_siginfo *info)
{
	union sigval value = {.sival_ptr = (void *)(uintptr_t)info->ssi_ptr};
	int sig = (int)info->ssi_signo;

	if (info->ssi_code == SI_KERNEL || info->ssi_pid == (uint32_t)getpid() ||
		info->ssi_pid == (uint32_t)s->watcher || info->ssi_pid == (uint32_t)s->child)
		return; /* also not our own SIGPIPE, the SIGCONT of the watcher, and signals of the
			   program to its parent */
	if (info->ssi_code == SI_QUEUE)
		sigqueue(s->child, sig, value);
	else
		kill(s->child, sig);
}

static bool is_stopped(pid_t pid)
{
	char text[512], *at = hl_procfs_stat((uint64_t)pid, text, sizeof(text));

	return at && at[0] == 'T';
}

/* Continues us when the program continues. We cannot see that while we are stopped, so a separate
 * process polls. */
static void watch_program(pid_t self, pid_t program)
{
	struct timespec delay = {.tv_nsec = 20000000};

	setsid();
	while (getppid() == self) {
		nanosleep(&delay, NULL);
		if (!is_stopped(program))
			kill(self, SIGCONT);
	}
	_exit(0);
}

/*
 * Leaves the program's process group. Signals to the group reach the program directly; as a member
 * we would receive them too, and the program would get each signal twice. A group leader can only
 * move to a group that exists, so a helper process makes a new group and is killed again. The
 * leader of a session cannot leave.
 */
static void leave_group(void)
{
	pid_t self = getpid(), helper;

	if (getpgrp() != self) {
		setpgid(0, 0);
		return;
	}
	if (getsid(0) == self)
		return;
	helper = fork();
	if (helper < 0)
		return;
	if (helper == 0)
		for (;;)
			pause();
	if (setpgid(helper, helper) == 0)
		setpgid(0, helper);
	kill(helper, SIGKILL);
	waitpid(helper, NULL, 0);
}

/* Sends ourselves a stop signal. Returns true if it stopped us and we were continued. In an
 * orphaned process group the kernel ignores all stop signals but SIGSTOP. */
static bool was_stopped_by(int sig)
{
	sigset_t one, pending;

	sigemptyset(&one);
	sigaddset(&one, sig);
	signal(sig, SIG_DFL);
	kill(getpid(), sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
	return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT);
}

/* Stops us with the signal that stopped the program, because a shell checks which signal it was. If
 * that signal does not stop us, our group is orphaned, and the program stopped only because we had
 * left its group. Without us it would have run on, so it is continued. */
static void stop_self(const struct record_session *s, int sig)
{
	if (sig != SIGSTOP && was_stopped_by(sig))
		return;
	if (sig != SIGSTOP && getpgid(s->child) == s->start_group)
		kill(s->child, SIGCONT);
	else
		kill(getpid(), SIGSTOP);
}

/* The program has stopped. We stop too, so that the shell notices. A SIGCONT to us continues both.
 * So does a SIGCONT to the group that we were started in, where a shell expects us, even if the
 * program stops again at once. */
static void stop_with_child(struct record_session *s, int sig)
{
	pid_t self = getpid();

	setpgid(0, s->start_group);
	s->watcher = fork();
	if (s->watcher == 0)
		watch_program(self, s->child);
	stop_self(s, sig);
	if (s->watcher > 0) {
		kill(s->watcher, SIGKILL);
		waitpid(s->watcher, NULL, 0);
	}
	/* Leave the group again only if the program is still in it. A program with its own group
	 * gets no signal twice, and without us the foreground group of the terminal could be
	 * empty. */
	if (getpgid(s->child) == s->start_group)
		leave_group();
}

/* Returns true and the status when the program has ended. */
static bool reap_child(struct record_session *s, int *status)
{
	while (waitpid(s->child, status, WNOHANG | WUNTRACED) == s->child) {
		if (!WIFSTOPPED(*status))
			return true;
		stop_with_child(s, WSTOPSIG(*status));
	}
	return false;
}

static void handle_signals(struct record_session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			forward_signal(s, &info);
		else if (s->collector > 0)
			hl_collector_link_replace(s);
	}
}

int hl_child_wait(struct record_session *s)
{
	int status = 0;

	s->start_group = getpgrp();
	leave_group();
	while (!reap_child(s, &status)) {
		struct pollfd fds[] = {
			{.fd = s->signal_fd, .events = POLLIN},
			{.fd = s->control_fd, .events = POLLIN},
		};

		poll(fds, HL_ARRAY_LEN(fds), -1);
		hl_collector_link_read(s);
		handle_signals(s);
	}
	return status;
}

int hl_child_exit_like(int status)
{
	struct rlimit none = {0, 0};
	sigset_t all;
	int sig;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none); /* the program has written its own core file */
	signal(sig, SIG_DFL);
	sigemptyset(&all);
	sigaddset(&all, sig);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	fflush(NULL);
	raise(sig);
	return 128 + sig;
}
