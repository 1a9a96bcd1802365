/*
 * cmd_record.c - runs a program and records it.
 *
 * A thin parent: it starts the collector, then the program, leaves the program's process group to
 * it, passes signals on, returns the program's status, and holds a second reference to every
 * region, so that a collector that dies can be replaced without losing what is in the rings.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/embed.h"
#include "cli/gdb.h"
#include "cli/machine.h"
#include "cli/record_options.h"
#include "cli/summary.h"
#include "cli/target.h"
#include "collect/collector.h"
#include "util/procfs.h"
#include "util/text.h"

enum {
	CANNOT_RECORD = 125,
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
};

struct held_region {
	int fd;
	uint64_t pid, inode;
};

struct session {
	struct record_options *o;
	struct target target;
	char library[PATH_MAX];
	char gdb[PATH_MAX]; /* with --gdb */
	struct hl_listener listener;
	int control_fd;
	pid_t collector, child;
	uint32_t regions, closed; /* of the child's own pid; under gdb of all */
	HL_VEC(struct held_region) held;
	char last_path[PATH_MAX];
	HL_VEC(char *) traces; /* to be given their files; with --embed-binaries only */
	int last_err;
	sigset_t old_mask;
	pid_t group; /* in which we were started, and a shell looks for us */
	struct itimerval timers[3];
	struct rlimit files;   /* descriptors that the program may have; ours are raised */
	siginfo_t pending[64]; /* signals that came for the program before it was there */
	size_t n_pending;
	struct sigaction old_chld;
	int signal_fd;
	pid_t watcher; /* while we are stopped */
	int restarts;
	bool settled;  /* nothing of what has ended is still to be written */
	bool lives_on; /* somebody of ours runs on, and may start programs */
};

/* In the collector's own process: with all regions that we hold, if there was one before it. */
static int run_collector(struct session *s, int control_fd)
{
	enum { OWN_FDS = 3 + HL_LISTEN_SOCKETS };
	struct hl_collector_start start = {.settings = s->o->collect,
		.listener = &s->listener,
		.control_fd = control_fd,
		.region_fd = -1,
		.verbose = s->o->verbose && !s->o->quiet};
	size_t n = s->held.len;
	int *keep = calloc(n + OWN_FDS, sizeof(*keep)), *fds = keep ? keep + OWN_FDS : NULL;
	uint64_t *pids = calloc(n + 1, sizeof(*pids));

	if (!keep || !pids)
		return -ENOMEM;
	keep[0] = control_fd;
	keep[1] = s->o->collect.output.dir_fd;
	keep[2] = hl_log_to_stderr(s->o) ? STDERR_FILENO : control_fd;
	memcpy(keep + 3, s->listener.fds, sizeof(s->listener.fds));
	for (size_t i = 0; i < n; i++) {
		fds[i] = s->held.data[i].fd;
		pids[i] = s->held.data[i].pid;
	}
	hl_collector_detach(keep, n + OWN_FDS);
	/* What one before us has written lies under its name. */
	start.settings.output.overwrite &= s->restarts == 0;
	start.orphan_fds = fds;
	start.orphan_pids = pids;
	start.n_orphans = n;
	return hl_collector_run(&start);
}

static int start_collector(struct session *s)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	s->collector = fork();
	if (s->collector < 0)
		return -errno;
	if (s->collector == 0) {
		close(pair[0]); /* it may have few descriptors */
		close(s->signal_fd);
		_exit(run_collector(s, pair[1]) < 0 ? 1 : 0);
	}
	close(pair[1]);
	if (s->control_fd >= 0)
		close(s->control_fd);
	s->control_fd = pair[0];
	return 0;
}

/* gdb stands for the program; its path is what is executed. Returns only if that failed. */
static void run_gdb(struct session *s, const char *preload, char **argv)
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

/* Timers live on over an exec, not over a fork: those that we were started with are the program's.
 */
static void take_timers(struct session *s)
{
	struct itimerval none = {0};

	for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++)
		setitimer(i, &none, &s->timers[i]);
}

/* Signals are pending over an exec, not over a fork. What has come until now is the program's. */
static void take_pending(struct session *s, bool collector_runs)
{
	struct timespec now = {0};
	sigset_t set;

	sigfillset(&set);
	if (collector_runs)
		sigdelset(&set, SIGCHLD); /* may tell of the collector */
	while (s->n_pending < HL_ARRAY_LEN(s->pending) &&
		sigtimedwait(&set, &s->pending[s->n_pending], &now) > 0)
		s->n_pending++;
}

/* In the child, with all signals blocked. */
static void give_pending(struct session *s)
{
	for (size_t i = 0; i < s->n_pending; i++)
		syscall(SYS_rt_sigqueueinfo, getpid(), s->pending[i].si_signo, &s->pending[i]);
}

/* Regions take a descriptor each, for as long as their programs live. */
static void raise_files(struct session *s)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &s->files) < 0)
		return;
	most = (struct rlimit){s->files.rlim_max, s->files.rlim_max};
	setrlimit(RLIMIT_NOFILE, &most);
}

static void restore_files(const struct session *s)
{
	if (s->files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &s->files);
}

/* What helps against the error, to be appended to its text. */
static const char *advice(int err)
{
	return err == -EMFILE ? "; raise the limit of open files (ulimit -n)" : "";
}

/* The file of -o is of the program that we start, and of what it becomes by exec. */
static void name_owner(const struct record_options *o)
{
	char pid[24];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (o->tags_output && !o->gdb)
		setenv("HEAPLAPSE_STATS_PID", pid, 1);
}

/* In the child, up to its exec. */
static void run_child(struct session *s, int argc, char **argv, int go, int failed)
{
	const char *old = getenv("LD_PRELOAD");
	char *preload, byte;
	int err;

	if (read(go, &byte, 1) != 1)
		_exit(CANNOT_RECORD); /* the parent has decided against it */
	name_owner(s->o);
	if (asprintf(&preload, "%s%s%s", s->library, old && *old ? ":" : "", old ? old : "") < 0)
		_exit(CANNOT_RECORD);
	sigaction(SIGCHLD, &s->old_chld, NULL);
	for (int i = ITIMER_REAL; i <= ITIMER_PROF; i++)
		setitimer(i, &s->timers[i], NULL);
	give_pending(s);
	restore_files(s);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	if (s->o->gdb) {
		run_gdb(s, preload, argv);
	} else {
		setenv("LD_PRELOAD", preload, 1);
		setenv("HEAPLAPSE_SOCKET", s->listener.address, 1);
		execv(s->target.path, argv);
	}
	err = errno;
	if (err == ENOEXEC && !s->o->gdb) { /* as execvp does: a script without a first line */
		char **sh = calloc((size_t)argc + 2, sizeof(*sh));

		if (!sh)
			_exit(CANNOT_RECORD);
		sh[0] = (char *)(uintptr_t) "/bin/sh";
		sh[1] = s->target.path;
		memcpy(sh + 2, argv + 1, (size_t)argc * sizeof(*sh));
		execv(sh[0], sh);
	}
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(CANNOT_RECORD);
	_exit(NOT_EXECUTABLE);
}

static void say_no_output(const struct record_options *o, int err)
{
	char why[HL_RECORD_SENTENCE];

	hl_record_no_output(why, sizeof(why), o, err, "-o");
	hl_cli_error("%s", why);
}

/* 0, or an exit status with the reason printed. */
static int start_child(struct session *s, int argc, char **argv)
{
	int go[2], failed[2], err = 0, log_err, status;
	char byte = 1, why[HL_RECORD_SENTENCE];

	take_timers(s);
	take_pending(s, true);
	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(failed, O_CLOEXEC) < 0 || (s->child = fork()) < 0) {
		hl_cli_error("cannot start %s: %s%s", argv[0], strerror(errno), advice(-errno));
		return CANNOT_RECORD;
	}
	if (s->child == 0) {
		close(go[1]);
		run_child(s, argc, argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	if (hl_record_uses_output(s->o))
		err = hl_output_check(&s->o->collect.output, s->target.path, (uint64_t)s->child);
	log_err = err ? 0 : hl_churn_log_check(s->o, s->target.path);
	if (log_err) {
		close(go[1]);
		waitpid(s->child, &status, 0);
		hl_cli_error("--churn-log: %s cannot be written: %s; choose another place",
			s->o->collect.output.churn_log, hl_churn_log_why(log_err));
		return CANNOT_RECORD;
	}
	if (!err && hl_log_file_check(why, sizeof(why), s->o, s->target.path, (uint64_t)s->child,
			    "--log-file") < 0) {
		close(go[1]);
		waitpid(s->child, &status, 0);
		hl_cli_error("%s", why);
		return CANNOT_RECORD;
	}
	if (!err && write(go[1], &byte, 1) == 1) {
		close(go[1]);
		if (read(failed[0], &err, sizeof(err)) != sizeof(err))
			err = 0;
		close(failed[0]);
		if (!err)
			return 0;
		hl_cli_error("cannot run %s: %s", s->o->gdb ? "gdb" : s->target.path,
			s->o->gdb && err == EINVAL ? "a quote in --gdb-options is not closed"
						   : strerror(err));
		waitpid(s->child, &status, 0);
		return err == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	}
	close(go[1]);
	waitpid(s->child, &status, 0);
	say_no_output(s->o, err);
	return CANNOT_RECORD;
}

static void let_go(struct session *s, uint64_t inode)
{
	for (size_t i = 0; i < s->held.len; i++)
		if (s->held.data[i].inode == inode) {
			close(s->held.data[i].fd);
			s->held.data[i] = s->held.data[--s->held.len];
			return;
		}
}

static void say_not_whole(const struct hl_note *closed)
{
	char n[HL_TEXT_SIZE_MAX];

	if (!closed->text[0]) { /* there was not even room for a name */
		hl_cli_error("process %u has no trace: %s; its %s event%s are missing%s",
			closed->pid, strerror(-closed->value), hl_text_count(n, closed->events),
			closed->events == 1 ? "" : "s", advice(closed->value));
		return;
	}
	hl_cli_error("the trace %s is not whole: %s; its last %s event%s are missing", closed->text,
		strerror(-closed->value), hl_text_count(n, closed->events),
		closed->events == 1 ? "" : "s");
}

/* The file is right, and larger than need be: nobody could tell why. */
static void say_early(const struct session *s, const struct hl_note *closed)
{
	char n[HL_TEXT_SIZE_MAX], most[HL_TEXT_SIZE_MAX];

	if (closed->early && !s->o->quiet)
		hl_cli_error("%s: %s block%s written before it was known whether they die young, "
			     "for more than %s events waited; a larger --pending makes the trace "
			     "smaller",
			closed->text, hl_text_count(n, closed->early),
			closed->early == 1 ? " was" : "s were",
			hl_text_count(most, s->o->collect.keep.pending_max));
}

static void remember_trace(struct session *s, const char *path)
{
	char *copy = strdup(path);

	if (!copy || hl_vec_push(&s->traces, copy)) {
		free(copy);
		hl_cli_error("%s: no files are embedded for want of memory", path);
	}
}

/* The program has ended, and nobody waits for us but who started us. */
static void embed_all(struct session *s)
{
	for (size_t i = 0; i < s->traces.len; i++) {
		hl_embed_recorded(s->traces.data[i], s->o->quiet);
		free(s->traces.data[i]);
	}
	hl_vec_free(&s->traces);
}

static void read_notes(struct session *s)
{
	struct hl_note note;
	int fd;

	while (hl_note_receive(s->control_fd, &note, &fd) == 0) {
		bool ours = s->o->gdb || note.pid == (uint32_t)s->child;

		switch (note.kind) {
		case HL_NOTE_REGION:
			s->regions += ours;
			if (fd >= 0 && hl_vec_push(&s->held,
					       ((struct held_region){fd, note.pid, note.region})))
				close(fd);
			fd = -1;
			break;
		case HL_NOTE_CLOSED:
			s->closed += ours;
			if (ours) {
				memcpy(s->last_path, note.text, sizeof(s->last_path));
				s->last_err = note.value;
			}
			if (note.value)
				say_not_whole(&note);
			else if (s->o->embed && note.text[0])
				remember_trace(s, note.text);
			say_early(s, &note);
			break;
		case HL_NOTE_SNAPSHOT:
			hl_cli_error("%s", note.text);
			break;
		case HL_NOTE_NO_LOG:
			hl_cli_error("--churn-log: %s is not written for process %u: %s",
				s->o->collect.output.churn_log, note.pid,
				hl_churn_log_why(note.value));
			break;
		case HL_NOTE_SETTLED:
			s->settled = true;
			s->lives_on = note.value != 0;
			break;
		case HL_NOTE_OVER:
			/* A program that could not go on after all: no trace of it will come. */
			s->regions -= ours && !note.value;
			let_go(s, note.region);
			break;
		}
		if (fd >= 0)
			close(fd);
	}
}

/* The collector is gone: its successor takes over the rings; what it had taken and not written is
 * lost. */
static void replace_collector(struct session *s)
{
	char how[64];
	int status;

	if (waitpid(s->collector, &status, WNOHANG) != s->collector)
		return;
	read_notes(s);
	s->closed = 0;
	s->regions = 0;
	for (size_t i = 0; i < s->held.len; i++)
		s->regions += s->o->gdb || s->held.data[i].pid == (uint64_t)s->child;
	snprintf(how, sizeof(how),
		WIFSIGNALED(status) ? "was killed by signal %d" : "ended with status %d",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	if (s->restarts++ >= 3 || start_collector(s) < 0) {
		hl_cli_error("the collector %s and cannot be replaced; recording stops here", how);
		s->collector = -1;
		close(s->control_fd);
		s->control_fd = -1;
		return;
	}
	hl_cli_error("the collector %s and was replaced; what comes is in a new file", how);
}

/* Terminal signals reach the program by themselves; what others send to us is meant for it. */
static void pass_on(struct session *s, const struct signalfd_siginfo *info)
{
	union sigval value = {.sival_ptr = (void *)(uintptr_t)info->ssi_ptr};
	int sig = (int)info->ssi_signo;

	if (info->ssi_code == SI_KERNEL || info->ssi_pid == (uint32_t)getpid() ||
		info->ssi_pid == (uint32_t)s->watcher || info->ssi_pid == (uint32_t)s->child)
		return; /* also not our own SIGPIPE, what the watcher woke us with, and what the
			   program sends to its parent */
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

/* Who is stopped cannot see that the program goes on: somebody else must look, and wake us. */
static void watch(pid_t us, pid_t program)
{
	struct timespec moment = {.tv_nsec = 20000000};

	setsid();
	while (getppid() == us) {
		nanosleep(&moment, NULL);
		if (!is_stopped(program))
			kill(us, SIGCONT);
	}
	_exit(0);
}

/*
 * What is sent to the program's process group reaches it there: we must not be a member, or it
 * would get everything twice. The leader of a group can only go to another that exists, so somebody
 * makes one and is gone. A session's leader must stay.
 */
static void leave_group(void)
{
	pid_t us = getpid(), maker;

	if (getpgrp() != us) {
		setpgid(0, 0);
		return;
	}
	if (getsid(0) == us)
		return;
	maker = fork();
	if (maker < 0)
		return;
	if (maker == 0)
		for (;;)
			pause();
	if (setpgid(maker, maker) == 0)
		setpgid(0, maker);
	kill(maker, SIGKILL);
	waitpid(maker, NULL, 0);
}

/* True when we were, and were continued again. In a group that no shell looks after the kernel lets
 * only SIGSTOP stop anyone. */
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

/* By the signal that stopped the program, for a shell asks which. Where that stops nobody, the
 * program stopped only because we had left its group: alone it would have gone on. */
static void stop_like(const struct session *s, int sig)
{
	if (sig != SIGSTOP && was_stopped_by(sig))
		return;
	if (sig != SIGSTOP && getpgid(s->child) == s->group)
		kill(s->child, SIGCONT);
	else
		kill(getpid(), SIGSTOP);
}

/* The program has stopped: so do we, that the shell sees it. Who continues us continues both; so
 * does who continues the group that we were started in, where a shell looks for us, even if the
 * program stops again at once. */
static void stop_with_child(struct session *s, int sig)
{
	pid_t us = getpid();

	setpgid(0, s->group);
	s->watcher = fork();
	if (s->watcher == 0)
		watch(us, s->child);
	stop_like(s, sig);
	if (s->watcher > 0) {
		kill(s->watcher, SIGKILL);
		waitpid(s->watcher, NULL, 0);
	}
	/* A program with a group of its own hears nothing twice, and a terminal whose group is gone
	 * would be nobody's. */
	if (getpgid(s->child) == s->group)
		leave_group();
}

/* True when the program has ended, with its status. */
static bool reap(struct session *s, int *status)
{
	while (waitpid(s->child, status, WNOHANG | WUNTRACED) == s->child) {
		if (!WIFSTOPPED(*status))
			return true;
		stop_with_child(s, WSTOPSIG(*status));
	}
	return false;
}

static void take_signals(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			pass_on(s, &info);
		else if (s->collector > 0)
			replace_collector(s);
	}
}

static int wait_for_child(struct session *s)
{
	int status = 0;

	while (!reap(s, &status)) {
		struct pollfd fds[] = {
			{.fd = s->signal_fd, .events = POLLIN},
			{.fd = s->control_fd, .events = POLLIN},
		};

		poll(fds, HL_ARRAY_LEN(fds), -1);
		read_notes(s);
		take_signals(s);
	}
	return status;
}

/* Until the traces of all that has ended are closed. Children that live on are the collector's
 * business. */
static void wait_for_trace(struct session *s, int status)
{
	struct hl_note note = {.kind = HL_NOTE_ENDED, .pid = (uint32_t)s->child, .value = status};

	hl_note_send(s->control_fd, &note, -1);
	read_notes(s);
	while (s->collector > 0 && (s->closed < s->regions || !s->settled)) {
		struct pollfd fd = {.fd = s->control_fd, .events = POLLIN};

		poll(&fd, 1, 500);
		read_notes(s);
		if (fd.revents & (POLLHUP | POLLERR)) {
			replace_collector(s);
			hl_note_send(s->control_fd, &note, -1);
		}
	}
}

static int leave_as(int status)
{
	struct rlimit none = {0, 0};
	sigset_t all;
	int sig;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none); /* the program has left its own */
	signal(sig, SIG_DFL);
	sigemptyset(&all);
	sigaddset(&all, sig);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	fflush(NULL);
	raise(sig);
	return 128 + sig;
}

/* All may be meant for the program. Of our own mistakes we die all the same: what cannot be held
 * back, the kernel does not hold back. */
static int block_signals(struct session *s)
{
	struct sigaction normal = {.sa_handler = SIG_DFL};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &s->old_mask);
	take_pending(s, false);
	/* Who ignores it, as some callers have us do, is never told of a child. */
	sigaction(SIGCHLD, &normal, &s->old_chld);
	s->signal_fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signal_fd < 0 ? -errno : 0;
}

/* Why it cannot be recorded; NULL: it can. */
static const struct hl_finding *problem_of(const struct session *s)
{
	return hl_findings_first(&s->target.findings, HL_VERDICT_FAILS);
}

/* 0, or an exit status with the reason printed. */
static int find_gdb(struct session *s, const char *program)
{
	static struct target gdb;
	int err = hl_target_find("gdb", &gdb);

	memcpy(s->gdb, gdb.path, sizeof(s->gdb));
	hl_target_fini(&gdb);
	if (err) {
		hl_cli_error("gdb cannot be started: %s; install it (apt install gdb)",
			hl_target_why_not("gdb", err));
		return CANNOT_RECORD;
	}
	if (s->target.is_script) {
		hl_cli_error("gdb cannot run %s, a script; give its interpreter: heaplapse record "
			     "--gdb %s %s",
			program, s->target.image, program);
		return CANNOT_RECORD;
	}
	return 0;
}

/* 0, or an exit status with the reason printed. */
static int prepare(struct session *s, const char *program)
{
	int err = hl_target_find(program, &s->target);

	if (err) {
		hl_cli_error("%s: %s", program, hl_target_why_not(program, err));
		return err == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	}
	if (s->target.cannot_run) {
		hl_cli_error("cannot run %s: %s; %s", program, problem_of(s)->what,
			problem_of(s)->remedy);
		return s->target.cannot_run == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	}
	if (problem_of(s) || hl_machine_check_files(&s->target.findings) ||
		hl_machine_check_rings(&s->target.findings))
		return 0;
	if (hl_library_find(s->library, sizeof(s->library), &s->target.findings)) {
		const struct hl_finding *why = problem_of(s);

		hl_cli_error("%s; %s", why->what, why->remedy);
		return CANNOT_RECORD;
	}
	err = s->o->gdb ? find_gdb(s, program) : 0;
	if (err)
		return err;
	err = hl_record_settle(s->o);
	if (err) {
		hl_cli_error("the current folder cannot be opened: %s", strerror(-err));
		return CANNOT_RECORD;
	}
	err = hl_record_name_tags(s->o, s->target.path);
	if (err) {
		say_no_output(s->o, err);
		return CANNOT_RECORD;
	}
	err = block_signals(s); /* no signal shall end us between a folder and its removal */
	if (!err)
		err = hl_listener_open(&s->listener);
	if (!err)
		err = start_collector(s);
	if (err) {
		hl_cli_error("the collector cannot be started: %s%s", strerror(-err), advice(err));
		return CANNOT_RECORD;
	}
	return 0;
}

static int run_unrecorded(struct session *s, char **argv)
{
	const struct hl_finding *why = problem_of(s);

	hl_cli_error("%s cannot be recorded: %s%s%s", argv[0], why->what, s->o->force ? "" : "; ",
		s->o->force ? "" : why->remedy);
	if (!s->o->force) {
		fputs("  --force runs it all the same, unrecorded\n", stderr);
		return CANNOT_RECORD;
	}
	restore_files(s);
	execv(s->target.path, argv);
	hl_cli_error("cannot run %s: %s", s->target.path, strerror(errno));
	return NOT_EXECUTABLE;
}

/* Whoever finds a trace empty shall know why. */
static void say_what_is_missing(const struct session *s, const char *program)
{
	const struct hl_finding *why = hl_findings_first(&s->target.findings, HL_VERDICT_PARTIAL);

	if (why && !s->o->quiet)
		hl_cli_error("%s is recorded in part: %s; %s", program, why->what, why->remedy);
}

static void say_summary(const struct session *s)
{
	if (s->o->collect.output.none)
		hl_summary_print_tags(s->target.path, (uint64_t)s->child);
	else
		hl_summary_print(s->last_path);
}

/* 0 with what became of the program, or an exit status with the reason printed. */
static int run_session(struct session *s, int argc, char **argv, int *status)
{
	int err;

	raise_files(s);
	err = prepare(s, argv[0]);
	if (err)
		return err;
	if (problem_of(s))
		return run_unrecorded(s, argv);
	say_what_is_missing(s, argv[0]);
	err = start_child(s, argc, argv);
	if (err)
		return err;
	s->group = getpgrp();
	leave_group();
	*status = wait_for_child(s);
	wait_for_trace(s, *status);
	embed_all(s);
	if (s->regions == 0 && s->restarts > 0)
		hl_cli_error("%s ended with its collector: its trace has no end", argv[0]);
	else if (s->regions == 0)
		hl_cli_error("%s was not recorded: %s", argv[0],
			s->o->gdb ? "gdb did not run it" : "the recorder never started in it");
	else if (!s->o->quiet && (s->o->summary || isatty(2)))
		say_summary(s);
	return 0;
}

static int run_record(void *state, int argc, char **argv)
{
	struct record_options *given = state;
	static struct session s; /* too large for the stack that the program may have been given */
	int status = 0, ended;

	s = (struct session){.o = given, .control_fd = -1};
	if (given->env_problem)
		return hl_cli_usage("%s", given->env_problem);
	if (argc == 0)
		return hl_cli_usage(
			"which program? for example: heaplapse record ./app --its-option");
	status = hl_record_fits(given);
	if (status)
		return status;
	ended = run_session(&s, argc, argv, &status);
	/* Else the collector does it, when all have ended. */
	if (!s.lives_on || s.collector < 0)
		hl_listener_remove_folder(&s.listener);
	hl_target_fini(&s.target);
	hl_vec_free(&s.held);
	return ended ? ended : leave_as(status);
}

static const struct hl_example record_examples[] = {
	{"./app --its-option", "run it, write heaplapse.app.PID.hlt"},
	{"-o app.hlt -f ./app", "write app.hlt, also over an old one"},
	{"--start=off ./app", "record from its heaplapse_start() on"},
	{0},
};

const struct hl_cmd hl_cmd_record = {
	.name = "record",
	.summary = "run a program and record its heap",
	.usage = "[options] [--] PROGRAM [ARGUMENTS]",
	.exit_status =
		"the program's own; 125 when it cannot be recorded, 126 when it cannot be run, "
		"127 when it is not found. A program that a signal killed: the same signal.",
	.examples = record_examples,
	.opts = hl_record_opts,
	.operand = HL_OPERAND_PROGRAM,
	.options_in_environment = true,
	.state_size = sizeof(struct record_options),
	.stops_at_operand = true,
	.usage_status = CANNOT_RECORD,
	.init = hl_record_init,
	.taken = hl_record_taken,
	.run = run_record,
};
