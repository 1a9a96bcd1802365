/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - follows a trace while it is being written (--follow), and the files that continue it.
 *
 * The program never waits for a follower: it reads the file, at low priority, and announces itself
 * to the collector, which then writes at most one more keyframe a second in modes count and cull.
 * Ctrl-C ends a follower cleanly: hl_follow_wait() returns 0, and work of the model is cancelled. A
 * second Ctrl-C kills it.
 */
#ifndef HL_CLI_FILES_FOLLOW_H
#define HL_CLI_FILES_FOLLOW_H

#include "cli/files/session_choice.h"

struct hl_follow {
	struct hl_model *m; /* open; the caller closes it in the end */
	char *path;         /* its file */
	char *operand;      /* of the user: the list of the session is found by it */
	uint64_t began_ns;  /* of the last look */
	int link_fd;        /* the connection to the collector; -1: none */
	uint64_t linked_ns; /* when it was tried to connect */
};

/* Opens the only trace of the choice. Returns 0, or prints a message and returns an exit status. */
int hl_follow_open(struct hl_follow *f, const struct hl_session_choice *c);
/* The model is not closed. */
void hl_follow_fini(struct hl_follow *f);
/* Is the trace complete as far as it will be? */
bool hl_follow_is_over(const struct hl_follow *f);
/*
 * Waits until there is something new, at least period_ns after the last look. Returns 1: the model
 * was refreshed; 0: Ctrl-C; -1: the trace is gone, and the reason was printed. The model can be
 * asked no more then.
 */
int hl_follow_wait(struct hl_follow *f, uint64_t period_ns);
/* Does its end say that another file continues it: ctl rotate, exec, a collector that died? */
bool hl_follow_is_continued(const struct hl_follow *f);
/* Opens that file and says so. Returns 1: f->m is its model, and the old one is closed; 0: there is
 * none, which was said. */
int hl_follow_next(struct hl_follow *f);
bool hl_follow_is_interrupted(void);

#endif
