/*
 * listen.h - where programs find the collector of `heaplapse record`.
 *
 * Two addresses in one word, the value of HEAPLAPSE_SOCKET: NAME:NONCE/FILTERS[:PATH]. NAME is an
 * abstract socket, which every mount namespace and every user of ours reaches, but no other network
 * namespace. PATH is a socket in a folder of its own that is nobody else's: it is reached from
 * every network namespace, but only where the file system is the same. FILTERS is how many seccomp
 * filters are usual (record/sandbox.c).
 */
#ifndef HL_COLLECT_LISTEN_H
#define HL_COLLECT_LISTEN_H

#include <sys/un.h>

#include "ring/hello.h"

enum { HL_LISTEN_NAME, HL_LISTEN_PATH, HL_LISTEN_SOCKETS };

struct hl_listener {
	int fds[HL_LISTEN_SOCKETS]; /* -1: none */
	char address[256];
	char nonce[HL_NONCE_CHARS + 1];
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
};

/* 0 or -errno. Without a place for the second socket there is only the first. */
int hl_listener_open(struct hl_listener *l);
/* The folder and what lies in it; once is enough, twice does no harm. */
void hl_listener_remove_folder(const struct hl_listener *l);

#endif
