/* SPDX-License-Identifier: Apache-2.0 */
/* fd_io.c - see fd_io.h. */
#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

#include "util/fd_io.h"

int hl_fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int hl_fd_read_at(int fd, void *to, size_t len, uint64_t at)
{
	char *p = to;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}
