/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_session.h - the state of one `record`, which its three parts share: cmd_record.c from the
 * options to the exit status, child.c for the program, collector_link.c for the collector.
 */
#ifndef HL_CLI_RECORD_RECORD_SESSION_H
#define HL_CLI_RECORD_RECORD_SESSION_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>

#include "cli/doctor/program.h"
#include "cli/record/record_options.h"
#include "collect/collector.h"
#include "util/vec.h"

/* Exit statuses of `record`; all others are the program's. */
enum {
	HL_EXIT_CANNOT_RECORD = 125,
	HL_EXIT_NOT_EXECUTABLE = 126,
	HL_EXIT_NOT_FOUND = 127,
};

struct held_region {
	int fd;
	uint64_t pid, inode;
};

struct record_session {
	struct record_options *o;
	struct target target;
	char library[PATH_MAX];
	char gdb[PATH_MAX]; /* with --gdb */

	/* The collector: collector_link.c. */
	struct hl_listener listener;
	int control_fd;
	pid_t collector;
	int restarts;
	uint32_t regions, closed; /* of the child's own pid; under gdb of all processes */
	uint32_t all_closed;      /* traces of all processes */
	HL_VEC(struct held_region) held_regions;
	char first_trace[PATH_MAX]; /* the name of the child's trace */
	char last_path[PATH_MAX];
	uint32_t earlier_files; /* of the same process, closed by ctl rotate */
	HL_VEC(char *) traces;  /* traces to embed files in; only with --embed-binaries */
	bool all_written;       /* all traces of ended processes are written */
	bool processes_run;     /* recorded processes still run, and may start programs */

	/* The program: child.c. */
	pid_t child;
	pid_t start_group; /* the process group we were started in, where a shell expects us */
	pid_t watcher;     /* runs while we are stopped */
	int signal_fd;
	sigset_t old_mask;
	struct sigaction old_chld;
	siginfo_t pending[64]; /* signals for the program that arrived before it was started */
	size_t n_pending;
	struct itimerval timers[3];
	struct rlimit file_limit; /* the program's limit of open files; ours is raised */
};

#endif
