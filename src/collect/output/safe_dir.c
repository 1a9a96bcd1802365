/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_dir.c - opens the directory of a trace safely.
 *
 * The path is traversed one name at a time, and each directory that was checked is held by its
 * descriptor: whatever is renamed meanwhile, the trace is written to the directory that was
 * checked. In a directory that all users may write to, a name says nothing about its creator. So
 * links of other users are not followed there, whatever the kernel's fs.protected_symlinks is.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/output/trace_output.h"

/* True if any user may rename and remove files in it. The sticky bit restricts that to the
 * owners. */
static bool is_exposed(const struct stat *dir)
{
	return (dir->st_mode & S_IWOTH) && !(dir->st_mode & S_ISVTX);
}

static bool is_planted(const struct stat *dir, const struct stat *link)
{
	return (dir->st_mode & S_IWOTH) && link->st_uid != geteuid() && link->st_uid != dir->st_uid;
}

/* Enters one directory; closes `dir`. Returns a descriptor or -errno. */
static int enter_dir(const struct hl_trace_output_settings *s, int dir, const char *name)
{
	const bool up = !strcmp(name, "..");
	struct stat here, there;
	int err = 0, next = -1;

	if (fstat(dir, &here) < 0 || fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		err = -errno;
	else if (is_exposed(&here) && !up && !s->allow_unsafe_dir)
		err = -HL_OUTPUT_EXPOSED;
	else if (S_ISLNK(there.st_mode) && is_planted(&here, &there))
		err = -HL_OUTPUT_PLANTED;
	if (!err) {
		next = openat(dir, name,
			O_PATH | O_DIRECTORY | O_CLOEXEC |
				(S_ISLNK(there.st_mode) ? 0 : O_NOFOLLOW));
		err = next < 0 ? -errno : 0;
	}
	close(dir);
	return err ? err : next;
}

int hl_trace_output_dir(const struct hl_trace_output_settings *s, const char *path)
{
	char dirs[PATH_MAX], *name, *rest;
	const char *slash = strrchr(path, '/');
	struct stat st;
	int fd;

	if (slash && !slash[1])
		return -EISDIR;
	if (slash && (size_t)(slash - path) >= sizeof(dirs))
		return -ENAMETOOLONG;
	snprintf(dirs, sizeof(dirs), "%.*s", slash ? (int)(slash - path) : 0, path);
	fd = openat(s->dir_fd, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (name = strtok_r(dirs, "/", &rest); name && fd >= 0; name = strtok_r(NULL, "/", &rest))
		fd = enter_dir(s, fd, name);
	if (fd >= 0 && !s->allow_unsafe_dir && fstat(fd, &st) == 0 && is_exposed(&st)) {
		close(fd);
		return -HL_OUTPUT_EXPOSED;
	}
	return fd;
}

const char *hl_trace_output_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* True if a collector is writing the file. Without its name that trace could not be found. */
static bool is_being_written(int dir, const char *base)
{
	int fd = openat(dir, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	bool busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return busy;
}

int hl_trace_output_may_replace(int dir, const char *base)
{
	struct stat here, st;
	uid_t us = geteuid();

	if (fstat(dir, &here) < 0 || fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return -EEXIST;
	if ((here.st_mode & S_ISVTX) && us != 0 && st.st_uid != us && here.st_uid != us)
		return -HL_OUTPUT_FOREIGN;
	return S_ISREG(st.st_mode) && is_being_written(dir, base) ? -EBUSY : 0;
}
