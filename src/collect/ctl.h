/*
 * ctl.h - what `heaplapse ctl` says to a collector, and its answers.
 *
 * Each region has a socket whose name is made of its memfd's inode: whoever may look into a program
 * (/proc/PID/maps) finds it, for an image as well as for what it forked. One message each way, then
 * it is over. Only the collector's own user and root are heard. Both sides take the other for
 * hostile.
 */
#ifndef HL_COLLECT_CTL_H
#define HL_COLLECT_CTL_H

#include <limits.h>
#include <poll.h>

#include "collect/region.h"

#define HL_CTL_MAGIC    UINT32_C(0x6c746368)
#define HL_CTL_VERSION  1u
#define HL_CTL_TEXT_MAX 1023u
#define HL_CTL_TRIES    8u /* a name that somebody else has taken is passed over */

enum hl_ctl_verb {
	HL_CTL_STATUS,
	HL_CTL_PAUSE,
	HL_CTL_RESUME, /* also what heaplapse_start() does */
	HL_CTL_STOP,
	HL_CTL_MODE, /* mode, sample_bytes */
	HL_CTL_MARK, /* text */
	HL_CTL_SNAPSHOT,
	HL_CTL_VERBS,
};

struct hl_ctl_request {
	uint32_t magic, version, verb, mode;
	uint64_t pid;
	uint64_t sample_bytes;
	char text[HL_CTL_TEXT_MAX + 1];
};

struct hl_ctl_answer {
	uint32_t magic, version;
	int32_t error; /* 0; -ESRCH: no such process; -EOPNOTSUPP: mode; -EINVAL */
	uint32_t mode;
	uint8_t paused, stopped, pad[6];
	uint64_t sample_bytes;
	uint64_t live_bytes, live_blocks, events, dropped, start_unix_ns;
	uint64_t file_bytes, collector_pid, collector_bytes;
	char path[PATH_MAX]; /* "": nothing is written yet */
};

/* The name of the socket, for sun_path + 1; its length. */
size_t hl_ctl_name(char *buf, size_t n, uint64_t inode, unsigned attempt);
/* A descriptor or -errno; without one the region cannot be steered from outside. */
int hl_ctl_listen(uint64_t inode);

struct hl_ctl_client {
	int fd;
	uint64_t since_ns;
	uint64_t region; /* the inode it has come to */
	bool asked;      /* in this request: */
	struct hl_ctl_request request;
};

struct hl_ctl_server {
	HL_VEC(struct hl_ctl_client) clients;
};

/*
 * Whoever has come or spoken is heard; waits for nobody. A request is done in the round after, so
 * that the rings have been looked at since: what a program did before it is before it in the trace.
 */
void hl_ctl_serve(struct hl_ctl_server *s, struct hl_region_reader *const *regions, size_t n,
	uint64_t now_ns);
/* There is somebody whose request is to be done. */
bool hl_ctl_is_asked(const struct hl_ctl_server *s);
void hl_ctl_fini(struct hl_ctl_server *s);

#endif
