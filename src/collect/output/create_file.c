/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create_file.c - creates output files: without a name, under a name that is free, or in
 * place of a file that may be replaced.
 *
 * A file is never created through a link or over a file of others.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "collect/drain/tsc_clock.h"
#include "collect/output/trace_output_internal.h"
#include "trace/format/session_row.h"

#define NAME_TRIES 10000 /* other processes may create names as fast as we do */

int hl_trace_output_create_unnamed(int dir)
{
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

int hl_trace_output_link_name(int dir, const char *base, int fd)
{
	char self[64];

	if (fd < 0) {
		fd = openat(dir, base, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		return fd < 0 ? -errno : fd;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, dir, base, AT_SYMLINK_FOLLOW) < 0 ? -errno : fd;
}

int hl_trace_output_replace_name(int dir, const char *base, int fd)
{
	uint64_t random = 0;
	char temp[64];
	int got, err;

	if (getrandom(&random, sizeof(random), 0) < 0)
		random = hl_mono_ns(); /* a name that exists is refused, not reused */
	snprintf(temp, sizeof(temp), ".heaplapse-%016" PRIx64, random);
	got = hl_trace_output_link_name(dir, temp, fd);
	if (got < 0 || renameat(dir, temp, dir, base) == 0)
		return got;
	err = -errno;
	unlinkat(dir, temp, 0);
	if (fd < 0)
		close(got);
	return err;
}

/* --overwrite replaces files that existed before, but not another trace of this run. A rotation
 * replaces nothing: the user named only the first file, and the next number may be a file that has
 * nothing to do with it. 0: replace the file; -ENOENT: create a new one; another error: neither. */
static int may_replace(const struct hl_trace_output *o, int dir, const char *path)
{
	if (!o->queue->settings->overwrite || o->in_session_dir || o->continues[0])
		return -ENOENT;
	return hl_numbered_names_has(&o->queue->series, path)
		       ? -EEXIST
		       : hl_trace_output_may_replace(dir, hl_trace_output_base(path));
}

/* A trace is not the first of a session if the name of the directory is taken. `record` has checked
 * that, and the user knows the name of its trace. */
static bool session_exists(const struct hl_trace_output *o, int dir, const char *base)
{
	return o->is_first && !o->queue->session.first_pid &&
	       hl_session_check(dir, base, o->queue->settings->overwrite) < 0;
}

static int create_named(struct hl_trace_output *o, int dir, int fd)
{
	const char *base = hl_trace_output_base(o->path);
	int err = may_replace(o, dir, o->path);

	if ((err && err != -ENOENT) || session_exists(o, dir, base))
		return -EEXIST;
	if (o->is_first && hl_session_check(dir, base, o->queue->settings->overwrite) == 0)
		hl_session_remove(dir, base);
	return err ? hl_trace_output_link_name(dir, base, fd)
		   : hl_trace_output_replace_name(dir, base, fd);
}

struct candidate {
	const struct hl_trace_output *o;
	const char *name;
	int dir;
};

static bool is_taken(const void *arg, uint32_t number)
{
	const struct candidate *c = arg;
	char path[PATH_MAX];
	struct stat st;
	int err;

	if (hl_numbered_names_name(path, sizeof(path), c->name, number))
		return false; /* the error is reported when the file is created */
	if (session_exists(c->o, c->dir, hl_trace_output_base(path)))
		return true;
	err = may_replace(c->o, c->dir, path);
	if (err != -ENOENT)
		return err != 0;
	return fstatat(c->dir, hl_trace_output_base(path), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Creates a new file: never through a link, never over a file of others. Other collectors may take
 * names of the same series at the same time. */
static int create_numbered(struct hl_trace_output *o, const char *name, int dir, int fd)
{
	const struct candidate c = {o, name, dir};
	struct hl_numbered_names *series = &o->queue->series;
	uint32_t number = hl_numbered_names_first(series, name);
	const bool first = number == 1;
	int got = -EEXIST;

	for (int tries = 0; tries < NAME_TRIES && number <= HL_NUMBERED_NAMES_MAX; tries++) {
		got = hl_numbered_names_name(o->path, sizeof(o->path), name, number);
		if (!got)
			got = create_named(o, dir, fd);
		if (got != -EEXIST)
			break;
		number = hl_numbered_names_find(number + 1, is_taken, &c);
	}
	if (got < 0)
		return got;
	hl_numbered_names_set_last(series, name, number);
	if (o->queue->settings->on_renamed && first && number > 1)
		o->queue->settings->on_renamed(name, o->path);
	if (o->queue->settings->overwrite)
		(void)hl_numbered_names_remember(series, o->path);
	return got;
}

/* A file system that does not say how much is free has room. */
static bool has_room(int dir, uint64_t bytes)
{
	struct statvfs fs;

	return bytes == 0 || fstatvfs(dir, &fs) < 0 || fs.f_blocks == 0 ||
	       fs.f_bavail >= bytes / fs.f_frsize + 1;
}

/* The file gets its name only when it is locked and has a header: a reader that sees the name can
 * check whether it is still being written. Where that is not possible it is created under
 * its name. */
static int open_in_dir(struct hl_trace_output *o, const char *name, int dir)
{
	int got, err, fd;

	if (!has_room(dir, o->room))
		return -ENOSPC;
	fd = hl_trace_output_create_unnamed(dir);
	if (fd >= 0) {
		err = hl_chunk_file_open_with(&o->file, o->queue->bench, fd, 0, &o->file_status);
		if (err) {
			close(fd);
			return err;
		}
	}
	got = create_numbered(o, name, dir, fd);
	if (fd >= 0 && got < 0) {
		hl_chunk_file_close(o->file);
		o->file = NULL;
		got = got == -EEXIST ? got : create_numbered(o, name, dir, fd = -1);
	}
	if (got < 0 || fd >= 0)
		return got < 0 ? got : 0;
	err = hl_chunk_file_open_with(&o->file, o->queue->bench, got, 0, &o->file_status);
	if (err)
		close(got);
	return err;
}

/* The program that was started. Under gdb, and without `record`, that is the first one. */
static bool is_first_of_session(const struct hl_trace_output *o)
{
	const struct hl_session *s = &o->queue->session;

	if (o->queue->settings->own_names && s->trace[0])
		return false;
	return !s->has_first && !o->continues[0] && (!s->first_pid || s->first_pid == o->meta.pid);
}

/* Chooses the name, and whether it is in the directory of the session. 0 or -errno. */
static int choose_name(struct hl_trace_output *o)
{
	const struct hl_trace_output_settings *s = o->queue->settings;
	const struct hl_session *session = &o->queue->session;

	if (o->continues[0]) {
		snprintf(o->name, sizeof(o->name), "%s", o->continues);
		return 0;
	}
	o->is_first = is_first_of_session(o);
	o->in_session_dir = !o->is_first && !s->own_names && !session->err && session->trace[0];
	if (o->in_session_dir)
		return hl_session_name(
			session, o->name, sizeof(o->name), o->meta.program, o->meta.pid);
	if (o->is_first && !s->own_names && session->trace[0]) {
		snprintf(o->name, sizeof(o->name), "%s", session->trace);
		return 0;
	}
	return hl_trace_output_name(o->name, sizeof(o->name), s->pattern, o->meta.program,
		o->meta.pid, o->meta.start_unix_ns, o->queue->series.files + 1);
}

static int create_chosen(struct hl_trace_output *o)
{
	struct hl_write_queue *q = o->queue;
	int err, dir = o->in_session_dir ? hl_session_open_dir(&q->session, q->settings)
					 : hl_trace_output_dir(q->settings, o->name);

	if (dir < 0)
		return dir;
	err = open_in_dir(o, o->name, dir);
	close(dir);
	return err;
}

static bool is_short_of_fds(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

int hl_trace_output_create_file(struct hl_trace_output *o)
{
	struct hl_session *session = &o->queue->session;
	int err = choose_name(o);

	if (!err)
		err = create_chosen(o);
	if (err && o->in_session_dir && !o->continues[0] && !is_short_of_fds(err)) {
		session->err = err; /* from now on traces are beside the first one */
		err = choose_name(o);
		if (!err)
			err = create_chosen(o);
	}
	if (err)
		return err;
	if (!session->trace[0] || o->is_first)
		snprintf(session->trace, sizeof(session->trace), "%s", o->path);
	session->has_first |= o->is_first;
	session->cleared |= o->is_first;
	return 0;
}

/* The trace that gave the session its name, where each process is named by the pattern. */
static bool is_first_named(const struct hl_trace_output *o)
{
	return !o->in_session_dir && !strcmp(o->path, o->queue->session.trace);
}

/* The list is not needed for reading: an error is reported once. */
void hl_trace_output_list_file(struct hl_trace_output *o)
{
	struct hl_write_queue *q = o->queue;
	struct hl_session *s = &q->session;
	int err = s->err;

	if (!s->announced && q->on_first)
		q->on_first(q->arg, s->trace);
	s->announced = true;
	if (!o->is_first && !is_first_named(o) && !err)
		err = hl_session_add(s, q->settings, &o->meta, o->path, o->in_session_dir);

	o->unlisted = is_short_of_fds(err);
	if (!err || s->err_reported || o->unlisted)
		return;
	s->err_reported = true;
	hl_log_file_write(&o->log, HL_LEVEL_WARN, "%s" HL_SESSION_SUFFIX " cannot be used: %s",
		s->trace, strerror(-err));
	if (q->on_no_session)
		q->on_no_session(q->arg, s->trace, err);
}

void hl_write_queue_reserve(struct hl_write_queue *q, const char *program, uint64_t pid)
{
	struct hl_trace_output *o = q->settings->disabled ? NULL : calloc(1, sizeof(*o));
	struct timespec now;

	if (!o)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	o->queue = q;
	o->meta.program = program;
	o->meta.pid = pid;
	o->meta.start_unix_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (hl_trace_output_create_file(o) == 0)
		q->reserved = o;
	else
		free(o);
}

bool hl_trace_output_take_reserved(struct hl_trace_output *o)
{
	struct hl_trace_output *reserved = o->queue->reserved;

	if (!reserved || reserved->meta.pid != o->meta.pid)
		return false;
	o->queue->reserved = NULL;
	o->file = reserved->file;
	hl_chunk_file_move_status(o->file, &o->file_status);
	memcpy(o->path, reserved->path, sizeof(o->path));
	memcpy(o->name, reserved->name, sizeof(o->name));
	o->in_session_dir = reserved->in_session_dir;
	o->is_first = reserved->is_first;
	free(reserved);
	return true;
}

void hl_trace_output_remove_file(const struct hl_trace_output *o)
{
	int dir = hl_trace_output_dir(o->queue->settings, o->path);

	if (dir < 0)
		return;
	unlinkat(dir, hl_trace_output_base(o->path), 0);
	close(dir);
}

void hl_write_queue_remove_reserved(struct hl_write_queue *q)
{
	struct hl_trace_output *o = q->reserved;

	if (!o)
		return;
	hl_trace_output_remove_file(o);
	hl_chunk_file_close(o->file);
	free(o);
	q->reserved = NULL;
}
