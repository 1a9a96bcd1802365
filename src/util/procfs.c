/* SPDX-License-Identifier: Apache-2.0 */
/* procfs.c - see procfs.h. */
#include "util/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

int hl_procfs_open(uint64_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

FILE *hl_procfs_fopen(uint64_t pid, const char *name)
{
	int fd = hl_procfs_open(pid, name);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd < 0)
		errno = -fd;
	else if (!f)
		close(fd);
	return f;
}

size_t hl_procfs_read(uint64_t pid, const char *name, char *text, size_t n)
{
	int fd = hl_procfs_open(pid, name);
	size_t at = 0;
	ssize_t got;

	while (fd >= 0 && at < n - 1 && (got = read(fd, text + at, n - 1 - at)) > 0)
		at += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[at] = '\0';
	return at;
}

char *hl_procfs_stat(uint64_t pid, char *text, size_t n)
{
	char *at = hl_procfs_read(pid, "stat", text, n) ? strrchr(text, ')') : NULL;

	return at && at[1] == ' ' ? at + 2 : NULL;
}
