/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener.h - the sockets where programs connect to the collector of `heaplapse record`.
 *
 * The value of HEAPLAPSE_SOCKET contains two addresses: NAME:NONCE/FILTERS[:PATH]. NAME is an
 * abstract socket: it is reached from every mount namespace and by every user that is recorded, but
 * not from another network namespace. PATH is a socket in a private directory: it is reached from
 * every network namespace, but only where the file system is the same. FILTERS is the number of
 * seccomp filters of `record` itself (record/hooks/seccomp.c).
 */
#ifndef HL_COLLECT_CONTROL_LISTENER_H
#define HL_COLLECT_CONTROL_LISTENER_H

#include <sys/un.h>

#include "ring/hello.h"

enum { HL_LISTEN_NAME, HL_LISTEN_PATH, HL_LISTEN_SOCKETS };

struct hl_listener {
	int fds[HL_LISTEN_SOCKETS]; /* -1: none */
	char address[256];
	char nonce[HL_NONCE_CHARS + 1];
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
};

/* 0 or -errno. If no directory for the second socket is found, there is only the first. */
int hl_listener_open(struct hl_listener *l);
/* Removes the socket's directory. May be called more than once. */
void hl_listener_remove_dir(const struct hl_listener *l);

#endif
