/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn_log.c - `record --churn-log FILE`: runs `heaplapse log --follow` for each trace.
 *
 * It is a separate process, started by the collector's second thread. It reads the trace like any
 * other reader, so that looking up names does not delay the recording. It appends to FILE.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/record/record_output.h"

static char self[PATH_MAX];

void hl_churn_log_prepare(struct record_options *o)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	o->collect.output.follow = o->collect.output.churn_log ? hl_churn_log_start : NULL;
}

/* flags: O_CREAT or 0. */
static int open_log(const struct hl_trace_output_settings *s, const char *name, int flags)
{
	int fd, dir = hl_trace_output_dir(s, name);

	if (dir < 0)
		return dir;
	fd = openat(dir, hl_trace_output_base(name),
		O_WRONLY | flags | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

int hl_churn_log_check(const struct record_options *o, const char *program)
{
	struct hl_trace_output_settings s = o->collect.output;
	char name[PATH_MAX];
	int fd, err;

	if (!s.churn_log)
		return 0;
	s.pattern = s.churn_log;
	s.overwrite = true; /* the file is appended to */
	s.disabled = true;  /* it is no trace: no session belongs to it */
	err = hl_trace_output_check(&s, program, 0, NULL);
	if (!err)
		err = hl_trace_output_name(name, sizeof(name), s.churn_log, program, 0, 0, 1);
	if (err)
		return err;
	fd = open_log(&s, name, 0); /* fails on a symbolic link, which is not followed */
	if (fd >= 0)
		close(fd);
	return fd == -ENOENT || fd >= 0 ? 0 : fd;
}

const char *hl_churn_log_error_text(int err)
{
	switch (-err) {
	case ELOOP:
		return "it is a symbolic link, which is not followed";
	case ENXIO:
		return "it is a FIFO that is not being read";
	case EINVAL:
		return "only p, e, t, n, h or % may follow %";
	case EEXIST:
		return "it is not a regular file";
	case HL_OUTPUT_FOREIGN:
		return "it belongs to another user";
	case HL_OUTPUT_EXPOSED:
		return "a directory in its path is world-writable without the sticky bit";
	case HL_OUTPUT_PLANTED:
		return "its path contains another user's link in a world-writable directory";
	case EBUSY:
		return "it is a trace that is being written";
	default:
		return strerror(-err);
	}
}

int hl_churn_log_start(
	const struct hl_trace_output_settings *s, const struct hl_meta *meta, const char *trace)
{
	const char *argv[] = {self, "log", "--follow", "--debuginfod=no", "--", trace, NULL};
	posix_spawn_file_actions_t actions;
	char name[PATH_MAX];
	pid_t pid = 0;
	int fd, err = hl_trace_output_name(name, sizeof(name), s->churn_log, meta->program,
			meta->pid, meta->start_unix_ns, 1);

	if (err)
		return err;
	fd = open_log(s, name, O_CREAT);
	if (fd < 0)
		return fd;
	err = -posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = -posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
		if (!err)
			err = -posix_spawn_file_actions_addopen(
				&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		if (!err)
			err = -posix_spawn_file_actions_addfchdir_np(&actions, s->dir_fd);
		if (!err)
			err = -posix_spawn(&pid, self, &actions, NULL, (char **)argv, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(fd);
	return err ? err : pid;
}
