/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_client.c - see ctl_client.h. The answer is checked like untrusted input. */
#include "cli/ctl/ctl_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor/running_process.h"

/* Any process can bind an abstract socket name first. Only a listener of our own user or of root is
 * trusted. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid() || geteuid() == 0);
}

static int try_connect(uint64_t inode, unsigned attempt)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t len = hl_ctl_name(addr.sun_path + 1, sizeof(addr.sun_path) - 1, inode, attempt);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) == 0) {
		if (is_trusted(fd))
			return fd;
		err = -EACCES;
	} else {
		err = -errno;
	}
	close(fd);
	return err;
}

/* Returns a descriptor, or -errno. A full queue (EAGAIN) is retried until the timeout. */
static int connect_collector(uint64_t inode, int timeout_ms)
{
	struct timespec delay = {.tv_nsec = 10000000};
	int fd = -ECONNREFUSED;

	for (int waited = 0; waited < timeout_ms; waited += 10) {
		bool busy = false, foreign = false;

		for (unsigned i = 0; i < HL_CTL_TRIES; i++) {
			fd = try_connect(inode, i);
			if (fd >= 0)
				return fd;
			busy |= fd == -EAGAIN;
			foreign |= fd == -EACCES;
		}
		if (!busy)
			return foreign ? -EACCES : fd;
		nanosleep(&delay, NULL);
	}
	return -ETIMEDOUT;
}

int hl_ctl_follow(uint64_t pid)
{
	struct hl_ctl_request q = {.magic = HL_CTL_MAGIC,
		.version = HL_CTL_VERSION,
		.verb = HL_CTL_FOLLOW,
		.pid = pid};
	int fd = -ECONNREFUSED, err;
	uint64_t inode;

	err = hl_running_process_region(pid, &inode);
	for (unsigned i = 0; i < HL_CTL_TRIES && !err && fd < 0; i++)
		fd = try_connect(inode, i);
	if (err || fd < 0)
		return -1;
	if (send(fd, &q, sizeof(q), MSG_NOSIGNAL) == sizeof(q))
		return fd;
	close(fd);
	return -1;
}

static int exchange_messages(
	int fd, const struct hl_ctl_request *q, struct hl_ctl_answer *a, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;

	if (send(fd, q, sizeof(*q), MSG_NOSIGNAL) < 0)
		return -errno;
	if (poll(&p, 1, timeout_ms) == 0)
		return -ETIMEDOUT;
	n = recv(fd, a, sizeof(*a), MSG_DONTWAIT | MSG_TRUNC);
	if (n <= 0)
		return n ? -errno : -ECONNRESET; /* it answers only its own user */
	if (n != sizeof(*a) || a->magic != HL_CTL_MAGIC || a->version != HL_CTL_VERSION)
		return -EPROTO;
	a->path[sizeof(a->path) - 1] = '\0';
	a->closed[sizeof(a->closed) - 1] = '\0';
	return 0;
}

int hl_ctl_ask(
	uint64_t inode, const struct hl_ctl_request *q, struct hl_ctl_answer *a, int timeout_ms)
{
	int fd = connect_collector(inode, timeout_ms), err;

	if (fd < 0)
		return fd;
	err = exchange_messages(fd, q, a, timeout_ms);
	close(fd);
	return err;
}
