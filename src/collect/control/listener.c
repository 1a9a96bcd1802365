/* SPDX-License-Identifier: Apache-2.0 */
/* listener.c - see listener.h. The directory has a random name that cannot be guessed. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "collect/control/listener.h"

#define SOCKET_SUFFIX "/socket"

/* 0 or -errno: a predictable name is never used. */
static int random_hex(char *to, size_t n)
{
	unsigned char bytes[HL_NONCE_CHARS];

	if (getrandom(bytes, n / 2, 0) != (ssize_t)(n / 2))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < n / 2; i++)
		snprintf(to + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int random_name(char *to, size_t n)
{
	int at = sprintf(to, "heaplapse-");

	return random_hex(to + at, n);
}

/* The seccomp filters of this process. A program that has more was put into a sandbox on its way
 * from `record`. */
static unsigned count_filters(void)
{
	char line[256];
	unsigned n = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Seccomp_filters: %u", &n) != 1)
		;
	if (f)
		fclose(f);
	return n;
}

/* Returns a descriptor or -errno. */
static int open_socket(const struct sockaddr_un *addr, size_t path_len)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)addr,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_len)) == 0 &&
		listen(fd, SOMAXCONN) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* True if no other user can remove or replace a file that is created in it. */
static bool is_safe_dir(const char *base)
{
	struct stat st;

	if (!base || base[0] != '/' || stat(base, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return false;
	return !(st.st_mode & (S_IWGRP | S_IWOTH)) || (st.st_mode & S_ISVTX);
}

/* False: not possible in this directory. */
static bool listen_in_dir(struct hl_listener *l, const char *base, const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int n = snprintf(
		addr.sun_path, sizeof(addr.sun_path), "%s/%s%s", base, name, SOCKET_SUFFIX);

	if (n < 0 || (size_t)n >= sizeof(addr.sun_path))
		return false;
	snprintf(l->dir, sizeof(l->dir), "%.*s", n - (int)strlen(SOCKET_SUFFIX), addr.sun_path);
	if (mkdir(l->dir, 0700) == 0) {
		l->fds[HL_LISTEN_PATH] = open_socket(&addr, (size_t)n + 1);
		if (l->fds[HL_LISTEN_PATH] >= 0)
			return true;
		rmdir(l->dir);
	}
	l->dir[0] = '\0';
	return false;
}

/* A user with a login session has a directory of its own; other users share one. */
static void open_path_socket(struct hl_listener *l, const char *name)
{
	const char *const bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};

	for (size_t i = 0; i < HL_ARRAY_LEN(bases); i++)
		if (is_safe_dir(bases[i]) && listen_in_dir(l, bases[i], name))
			return;
}

int hl_listener_open(struct hl_listener *l)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char name[64], dir_name[64];
	int err;

	*l = (struct hl_listener){.fds = {-1, -1}};
	err = random_name(name, HL_NONCE_CHARS);
	if (!err) /* it is visible in its parent directory, so it must not reveal the other name */
		err = random_name(dir_name, HL_NONCE_CHARS / 2);
	if (!err)
		err = random_hex(l->nonce, HL_NONCE_CHARS);
	if (err)
		return err;
	memcpy(addr.sun_path + 1, name, strlen(name));
	l->fds[HL_LISTEN_NAME] = open_socket(&addr, 1 + strlen(name));
	if (l->fds[HL_LISTEN_NAME] < 0)
		return l->fds[HL_LISTEN_NAME];
	open_path_socket(l, dir_name);
	snprintf(l->address, sizeof(l->address), "%s:%s/%u%s%s%s", name, l->nonce, count_filters(),
		l->dir[0] ? ":" : "", l->dir, l->dir[0] ? SOCKET_SUFFIX : "");
	return 0;
}

void hl_listener_remove_dir(const struct hl_listener *l)
{
	char path[sizeof(l->dir) + sizeof(SOCKET_SUFFIX)];

	if (!l->dir[0])
		return;
	snprintf(path, sizeof(path), "%s%s", l->dir, SOCKET_SUFFIX);
	unlink(path);
	rmdir(l->dir);
}
