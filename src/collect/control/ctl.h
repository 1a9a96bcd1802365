/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.h - the protocol between `heaplapse ctl` and a collector.
 *
 * Each region has a socket. Its name contains the inode of the region's memfd: a user that may read
 * /proc/PID/maps of a program finds it, for an image as well as for its fork children. A connection
 * has one request and one answer; that of a follower then stays open. Only the collector's own user
 * and root are served. Both sides treat the other as hostile.
 */
#ifndef HL_COLLECT_CONTROL_CTL_H
#define HL_COLLECT_CONTROL_CTL_H

#include <limits.h>
#include <poll.h>

#include "collect/control/rotate_request.h"
#include "collect/drain/region.h"

#define HL_CTL_MAGIC    UINT32_C(0x6c746368)
#define HL_CTL_VERSION  2u
#define HL_CTL_TEXT_MAX 1023u
#define HL_CTL_TRIES    8u /* a name that is already taken is skipped */

enum hl_ctl_verb {
	HL_CTL_STATUS,
	HL_CTL_PAUSE,
	HL_CTL_RESUME, /* also what heaplapse_start() does */
	HL_CTL_STOP,
	HL_CTL_MODE, /* mode, sample_bytes */
	HL_CTL_MARK, /* text */
	HL_CTL_SNAPSHOT,
	HL_CTL_ROTATE, /* close the file and continue in the next one */
	HL_CTL_VERBS,
	/* Not a verb of users: a viewer follows the trace until it closes the connection. In modes
	 * count and cull a keyframe is written each second. */
	HL_CTL_FOLLOW = 64,
};

struct hl_ctl_request {
	uint32_t magic, version, verb, mode;
	uint64_t pid;
	uint64_t sample_bytes;
	char text[HL_CTL_TEXT_MAX + 1];
};

struct hl_ctl_answer {
	uint32_t magic, version;
	int32_t error; /* 0; -ESRCH: no such process; -EOPNOTSUPP: mode; -EINVAL; other errors of
			  ROTATE */
	uint32_t mode;
	uint8_t paused, stopped;
	/* HL_CTL_STOP or HL_CTL_RESUME: takes effect at the program's next call of the allocator;
	 * 0: nothing does, or the collector is older. */
	uint8_t pending, pad[5];
	uint64_t sample_bytes;
	uint64_t live_bytes, live_blocks, events, dropped, start_unix_ns;
	uint64_t file_bytes, collector_pid, collector_bytes;
	char path[PATH_MAX];   /* "": not opened yet */
	char closed[PATH_MAX]; /* ROTATE: the file that is now complete */
};

/* Writes the name of the socket, for sun_path + 1. Returns its length. */
size_t hl_ctl_name(char *buf, size_t n, uint64_t inode, unsigned attempt);
/* Returns a descriptor or -errno. Without a socket the region cannot be steered from outside. */
int hl_ctl_listen(uint64_t inode);

struct hl_ctl_client {
	int fd;
	uint64_t since_ns;
	uint64_t region;  /* the inode of the region that it has connected to */
	bool has_request; /* `request` is complete */
	bool follows;     /* it follows request.pid, and says nothing more */
	struct hl_ctl_request request;
	struct hl_rotate_request *rotation; /* of a request to rotate */
};

struct hl_wait_set;

struct hl_ctl_server {
	struct hl_wait_set *wait; /* gets the descriptors of the clients; NULL: none */
	HL_VEC(struct hl_ctl_client) clients;
};

/* Accepts connections if there are new ones, receives requests and answers them; never blocks. A
 * request is executed in the round after it was received, so that the rings have been scanned in
 * between: events that precede the request precede it in the trace. has_data: a client may have
 * sent something or be gone; followers are only looked at then. */
void hl_ctl_serve(struct hl_ctl_server *s, struct hl_region_reader *const *regions, size_t n,
	bool has_new, bool has_data, uint64_t now_ns);
/* True if a client waits for something: every one that does not follow. */
bool hl_ctl_is_waiting(const struct hl_ctl_server *s);
/* True if a received request is still to be executed. */
bool hl_ctl_has_request(const struct hl_ctl_server *s);
void hl_ctl_fini(struct hl_ctl_server *s);

#endif
