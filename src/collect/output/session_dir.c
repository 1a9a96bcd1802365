/* SPDX-License-Identifier: Apache-2.0 */
/* session_dir.c - see session_dir.h. */
#include "collect/output/session_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/output/trace_output.h"
#include "trace/format/session_row.h"

#define PROGRAM_BYTES 200 /* of a file's name, which has at most NAME_MAX */

void hl_session_set_first(struct hl_session *s, const char *trace, uint64_t pid, bool is_made)
{
	snprintf(s->trace, sizeof(s->trace), "%s", trace);
	s->first_pid = pid;
	s->has_first = is_made;
}

/* --- the environment variable: LENGTH:PATTERN and the absolute path of the first trace --- */

static bool absolute_path(
	char *to, size_t n, const struct hl_trace_output_settings *set, const char *path)
{
	char link[64], dir[PATH_MAX];
	ssize_t len;
	int w;

	if (path[0] == '/') {
		w = snprintf(to, n, "%s", path);
		return w > 0 && (size_t)w < n;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", set->dir_fd);
	len = readlink(link, dir, sizeof(dir));
	if (len <= 0 || (size_t)len >= sizeof(dir) || dir[0] != '/')
		return false;
	w = snprintf(to, n, "%.*s/%s", (int)len, dir, path);
	return w > 0 && (size_t)w < n;
}

bool hl_session_export(const struct hl_session *s, const struct hl_trace_output_settings *set,
	char *value, size_t n)
{
	int at = snprintf(value, n, "%zu:%s", strlen(set->pattern), set->pattern);
	bool fits = at > 0 && (size_t)at < n && s->trace[0] &&
		    absolute_path(value + at, n - (size_t)at, set, s->trace);

	if (!fits)
		value[0] = '\0';
	return fits;
}

bool hl_session_join(struct hl_session *s, const char *pattern, const char *value)
{
	size_t len = strlen(pattern);
	char *end;

	if (strtoull(value, &end, 10) != len || *end != ':' || strncmp(end + 1, pattern, len) != 0)
		return false;
	value = end + 1 + len;
	if (value[0] != '/' || strlen(value) >= sizeof(s->trace))
		return false;
	snprintf(s->trace, sizeof(s->trace), "%s", value);
	s->joined = s->has_first = s->cleared = true;
	return true;
}

/* --- an old session --- */

static int dir_name(char *buf, size_t n, const char *base)
{
	int w = snprintf(buf, n, "%s" HL_SESSION_SUFFIX, base);

	return w < 0 || (size_t)w >= n || w > NAME_MAX ? -ENAMETOOLONG : 0;
}

/* A directory that no other user may change. Returns a descriptor or -errno. */
static int open_own_dir(int parent, const char *name, int flags)
{
	int fd = openat(parent, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	close(fd);
	return -EPERM;
}

/* The list, at its second line; NULL: there is none, or the file is not a list. */
static FILE *read_old_list(int dir)
{
	char start[sizeof(HL_SESSION_HEADER)] = "";
	int fd = openat(
		dir, HL_SESSION_LIST, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");

	if (!list && fd >= 0)
		close(fd);
	if (!list || (fgets(start, sizeof(start), list) && !strcmp(start, HL_SESSION_HEADER)))
		return list;
	fclose(list);
	return NULL;
}

static bool has_list(int dir)
{
	FILE *list = read_old_list(dir);

	if (list)
		fclose(list);
	return list != NULL;
}

/* The user may have a file of that name. */
static bool has_other_list(int dir)
{
	struct stat st;

	return fstatat(dir, HL_SESSION_LIST, &st, AT_SYMLINK_NOFOLLOW) == 0 && !has_list(dir);
}

static bool is_trace_name(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, ".hlt");
}

/* Calls do_file for each trace in the directory until it returns an error, which is returned. */
static int each_trace(int dir, int (*do_file)(int dir, const char *name))
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (e = readdir(d)))
		if (is_trace_name(e->d_name))
			err = do_file(dir, e->d_name);
	closedir(d);
	return err;
}

static bool has_nothing_else(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool nothing = d != NULL;
	struct dirent *e;

	while (nothing && (e = readdir(d)))
		nothing = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			  !strcmp(e->d_name, HL_SESSION_LIST);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return nothing;
}

static int check_file(int dir, const char *name)
{
	return hl_trace_output_may_replace(dir, name) == -EBUSY ? -EBUSY : 0;
}

/* The old session that is removed. */
struct old_session {
	int parent, dir;
	const char *base; /* its first trace, in parent */
};

/* base: "app.hlt". True for "app.2.hlt". */
static bool is_numbered(const char *name, const char *base)
{
	size_t stem = strlen(base) - (is_trace_name(base) ? strlen(".hlt") : 0);
	size_t digits = strncmp(name, base, stem) || name[stem] != '.'
				? 0
				: strspn(name + stem + 1, "0123456789");

	return digits > 0 && !strcmp(name + stem + 1 + digits, base + stem);
}

static void remove_regular(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		unlinkat(dir, name, 0);
}

/* Beside the directory are the files after a rotation. Other files there belong to the user. */
static void remove_trace(const struct old_session *s, const char *name)
{
	if (!strchr(name, '/') && is_trace_name(name))
		remove_regular(s->dir, name);
	else if (!strncmp(name, "../", 3) && !strchr(name + 3, '/') &&
		 is_numbered(name + 3, s->base) &&
		 hl_trace_output_may_replace(s->parent, name + 3) == 0)
		remove_regular(s->parent, name + 3);
}

/* Files that the list does not name are the user's, also traces. */
static void remove_listed(const struct old_session *s, FILE *list)
{
	char line[HL_SESSION_LINE_MAX];
	struct hl_session_row row;
	bool is_start = true;

	while (fgets(line, sizeof(line), list)) {
		char *end = strchr(line, '\n');
		bool whole = is_start && end;

		is_start = end != NULL;
		if (!whole)
			continue;
		*end = '\0';
		if (hl_session_row_parse(&row, line) && row.file)
			remove_trace(s, row.file);
	}
}

int hl_session_check(int dir, const char *base, bool overwrite)
{
	char name[PATH_MAX];
	struct stat st;
	int err = dir_name(name, sizeof(name), base), fd;

	if (err)
		return 0; /* then there is none, and none can be made */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	fd = open_own_dir(dir, name, O_RDONLY);
	if (fd < 0)
		return overwrite ? -HL_OUTPUT_NOT_SESSION : -HL_OUTPUT_SESSION;
	if (!overwrite)
		err = has_list(fd) && has_nothing_else(fd) ? 0 : -HL_OUTPUT_SESSION;
	else
		err = has_other_list(fd) ? -HL_OUTPUT_NOT_SESSION : each_trace(fd, check_file);
	if (!err && faccessat(fd, ".", W_OK | X_OK, 0) < 0)
		err = -HL_OUTPUT_READ_ONLY;
	close(fd);
	return err;
}

void hl_session_remove(int dir, const char *base)
{
	char name[PATH_MAX];
	int fd = dir_name(name, sizeof(name), base) ? -1 : open_own_dir(dir, name, O_RDONLY);

	FILE *list = fd < 0 ? NULL : read_old_list(fd);

	if (fd < 0)
		return;
	if (list) {
		remove_listed(&(struct old_session){.parent = dir, .dir = fd, .base = base}, list);
		unlinkat(fd, HL_SESSION_LIST, 0); /* last: it names the rest */
		fclose(list);
	}
	close(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* --- this session --- */

/* A process is recorded before the first one, which perhaps is not recorded at all: then its old
 * trace must not seem to belong to this session. */
static void clear_old(const struct hl_session *s, int parent, const char *base)
{
	hl_session_remove(parent, base);
	if (!s->has_first && hl_trace_output_may_replace(parent, base) == 0)
		unlinkat(parent, base, 0);
}

int hl_session_open_dir(struct hl_session *s, const struct hl_trace_output_settings *set)
{
	char name[PATH_MAX];
	const char *base = hl_trace_output_base(s->trace);
	int fd, err, parent = hl_trace_output_dir(set, s->trace);

	if (parent < 0)
		return parent;
	err = dir_name(name, sizeof(name), base);
	if (!err && !s->cleared && set->overwrite)
		clear_old(s, parent, base);
	s->cleared = true;
	if (!err && mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		err = -errno;
	fd = err ? err : open_own_dir(parent, name, O_PATH);
	close(parent);
	return fd;
}

int hl_session_name(
	const struct hl_session *s, char *buf, size_t n, const char *program, uint64_t pid)
{
	char name[PROGRAM_BYTES];
	int w;

	hl_trace_output_program_name(name, sizeof(name), program);
	w = snprintf(buf, n, "%s" HL_SESSION_SUFFIX "/%llu.%s.hlt", s->trace,
		(unsigned long long)pid, name);
	return w < 0 || (size_t)w >= n ? -ENAMETOOLONG : 0;
}

/* A list without its first line would not be recognized, so it gets its name with that line.
 * 0 or -errno. */
static int make_list(int dir)
{
	int got, err = 0, fd = hl_trace_output_create_unnamed(dir);
	bool unnamed = fd >= 0;

	if (!unnamed)
		fd = hl_trace_output_link_name(dir, HL_SESSION_LIST, -1);
	if (fd < 0)
		return fd == -EEXIST ? 0 : fd;
	if (write(fd, HL_SESSION_HEADER, strlen(HL_SESSION_HEADER)) < 0)
		err = -errno;
	if (!err && unnamed) {
		got = hl_trace_output_link_name(dir, HL_SESSION_LIST, fd);
		err = got < 0 && got != -EEXIST ? got : 0;
	}
	close(fd);
	return err;
}

static int open_list(int dir)
{
	int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, err;
	int fd = openat(dir, HL_SESSION_LIST, flags);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		err = make_list(dir);
		if (err)
			return err;
		fd = openat(dir, HL_SESSION_LIST, flags);
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EEXIST;
}

/* True if both files are in the same directory. */
static bool is_beside(
	const struct hl_trace_output_settings *set, const char *path, const char *other)
{
	int a = hl_trace_output_dir(set, path), b = hl_trace_output_dir(set, other);
	struct stat x, y;
	bool same = a >= 0 && b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 &&
		    x.st_dev == y.st_dev && x.st_ino == y.st_ino;

	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return same;
}

/* One write, so that lines of several collectors do not mix. */
static int append_row(int dir, const struct hl_session_row *row)
{
	struct hl_strbuf line = {0};
	int fd = open_list(dir), err = 0;

	if (fd < 0)
		return fd;
	hl_session_row_put(&line, row);
	if (write(fd, hl_strbuf_str(&line), line.len) != (ssize_t)line.len)
		err = errno ? -errno : -ENOSPC;
	hl_strbuf_fini(&line);
	close(fd);
	return err;
}

int hl_session_add(struct hl_session *s, const struct hl_trace_output_settings *set,
	const struct hl_meta *meta, const char *path, bool in_dir)
{
	char name[PATH_MAX];
	struct hl_session_row row = {.pid = meta->pid,
		.parent_pid = meta->parent_pid,
		.start_unix_ns = meta->start_unix_ns,
		.program = meta->program,
		.file = name};
	int err, dir = hl_session_open_dir(s, set);

	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), "%s%s", in_dir ? "" : "../", hl_trace_output_base(path));
	if (!in_dir && !is_beside(set, path, s->trace))
		row.file = NULL;
	err = append_row(dir, &row);
	close(dir);
	return err;
}
