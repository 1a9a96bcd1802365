/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.c - gets the region of this program image from the collector of `heaplapse record`.
 *
 * The address is the value of HEAPLAPSE_SOCKET (collect/control/listener.h): the name of an
 * abstract socket, random per invocation; after a colon the nonce that we must send; after a slash
 * the number of seccomp filters to expect (seccomp.c); after another colon the path of a second
 * socket, for programs in a network namespace where the first one does not exist. All descriptors
 * are closed before the program runs.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/attr.h"
#include "base/fmt.h"
#include "record/arch/syscall.h"
#include "record/session/connect.h"
#include "ring/hello.h"
#include "ring/region_layout.h"

/* The name of an abstract socket begins with a zero byte. flags: for socket(). Returns a descriptor
 * or -errno. */
static int open_socket(const char *name, size_t len, bool abstract, int flags)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = 5};
	long fd = hl_sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0), err;

	if (fd < 0)
		return (int)fd;
	if (len + 1 > sizeof(addr.sun_path)) {
		hl_sys1(SYS_close, fd);
		return -EINVAL;
	}
	memcpy(addr.sun_path + abstract, name, len);
	hl_sys5(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	hl_sys5(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	err = hl_sys3(SYS_connect, fd, &addr, offsetof(struct sockaddr_un, sun_path) + 1 + len);
	if (err < 0) {
		hl_sys1(SYS_close, fd);
		return (int)err;
	}
	return (int)fd;
}

/* In another file system another user may have created a socket with the same path, and would
 * supply our shared memory. */
static bool is_trusted_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return hl_sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == 0 || peer.uid == (uid_t)hl_sys0(SYS_geteuid));
}

static int open_path(const char *path)
{
	int fd = open_socket(path, strlen(path), false, 0);

	if (fd < 0 || is_trusted_peer(fd))
		return fd;
	hl_sys1(SYS_close, fd);
	return -EACCES;
}

/* Takes the descriptors from an answer: that of the region, and perhaps a second one. */
static int take_fds(const struct cmsghdr *c, int *memfd, int *announced)
{
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(sizeof(int)))
		return -EPROTO;
	memcpy(memfd, CMSG_DATA(c), sizeof(int));
	if (c->cmsg_len >= CMSG_LEN(2 * sizeof(int)))
		memcpy(announced, CMSG_DATA(c) + sizeof(int), sizeof(int));
	return 0;
}

static int request_region(int fd, const char *nonce, int *memfd, int *announced)
{
	struct hl_hello hello = {.magic = HL_HELLO_MAGIC, .abi = HL_REGION_ABI};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	char byte;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	long n;

	hello.pid = (uint32_t)hl_sys0(SYS_getpid);
	strncpy(hello.nonce, nonce, sizeof(hello.nonce) - 1);
	n = hl_sys6(SYS_sendto, fd, (long)&hello, sizeof(hello), MSG_NOSIGNAL, 0, 0);
	if (n < 0)
		return (int)n;
	n = hl_sys3(SYS_recvmsg, fd, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n < 0 ? (int)n : -ECONNREFUSED;
	return take_fds(CMSG_FIRSTHDR(&msg), memfd, announced);
}

hl_cold int hl_connect(const char *address, int *memfd, int *announced)
{
	const char *colon = strchr(address, ':'), *path;
	int fd, err;

	if (!colon)
		return -EINVAL;
	fd = open_socket(address, (size_t)(colon - address), true, 0);
	path = strchr(colon + 1, ':');
	if (fd == -ECONNREFUSED && path)
		fd = open_path(path + 1);
	if (fd < 0)
		return fd;
	err = request_region(fd, colon + 1, memfd, announced);
	hl_sys1(SYS_close, fd);
	return err;
}

/* The collector sleeps on its descriptors; a connection to its socket wakes it. Correctness does
 * not depend on it: otherwise the collector looks a few milliseconds later. */
hl_cold void hl_connect_wake(uint64_t inode)
{
	char name[sizeof(HL_CTL_PREFIX) + 32] = HL_CTL_PREFIX;
	size_t len = sizeof(HL_CTL_PREFIX) - 1;
	int fd;

	len += hl_fmt_u64(name + len, inode);
	memcpy(name + len, "-0", 2);
	fd = open_socket(name, len + 2, true, SOCK_NONBLOCK);
	if (fd >= 0)
		hl_sys1(SYS_close, fd);
}
