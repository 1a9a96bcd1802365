/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_set.h - the descriptors that the collector's first thread waits for: an epoll set.
 *
 * A descriptor is added when it is opened and removed before it is closed: a duplicate in a child
 * would keep it in the set. If a descriptor could not be added, the set is incomplete: then nothing
 * may depend on it being reported.
 */
#ifndef HL_COLLECT_WAIT_SET_H
#define HL_COLLECT_WAIT_SET_H

#include <stdbool.h>
#include <stdint.h>

/* The purpose of a descriptor. */
enum hl_wait_kind {
	HL_WAIT_LISTENER = 1,   /* a program connects */
	HL_WAIT_CONNECTION = 2, /* a program sends its hello */
	HL_WAIT_CONTROL = 4,    /* `record` sends a message */
	HL_WAIT_CTL = 8,        /* `heaplapse ctl` connects */
	HL_WAIT_CTL_CLIENT = 16,
	HL_WAIT_PROCESS = 32, /* a pidfd: a target dies */
	HL_WAIT_ALL = 63,
};

struct hl_wait_set {
	int epoll_fd; /* -1: none */
	bool incomplete;
};

/* Without an epoll descriptor the set is incomplete. */
void hl_wait_set_init(struct hl_wait_set *s);
void hl_wait_set_fini(struct hl_wait_set *s);
/* Adds and removes a descriptor, which stays the caller's. Does nothing if s is NULL or fd is
 * negative. */
void hl_wait_set_add(struct hl_wait_set *s, int fd, enum hl_wait_kind kind);
void hl_wait_set_remove(struct hl_wait_set *s, int fd);
/* Sleeps until a descriptor is ready, at most this long. Returns the kinds that are ready. */
uint32_t hl_wait_set_wait(struct hl_wait_set *s, uint32_t sleep_ns);

#endif
