/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate_request.h - `heaplapse ctl PID rotate`: closes the trace of a target and continues in the
 * next file.
 *
 * The next file is created first. So if it cannot be created the recording stays as it is. The
 * second thread creates and closes files, so a request takes several rounds of the first thread.
 */
#ifndef HL_COLLECT_CONTROL_ROTATE_REQUEST_H
#define HL_COLLECT_CONTROL_ROTATE_REQUEST_H

#include <limits.h>

#include "collect/match/target_process.h"

/* A zeroed struct is a new request. */
struct hl_rotate_request {
	enum { HL_ROTATE_NEW, HL_ROTATE_CREATING, HL_ROTATE_CLOSING } stage;
	uint64_t since_ns;     /* of the stage */
	char closed[PATH_MAX]; /* CLOSING: the file that is being closed */
};

/* Advances a request. Returns 0 when the old file is closed and the base is in the next one;
 * -EINPROGRESS: call it again in the next round; -ENODATA: the old file has an error already;
 * -ENOTRECOVERABLE: the old file is closed, and the base could not be written; or another -errno,
 * and nothing has changed. */
int hl_rotate_request_step(struct hl_rotate_request *q, struct hl_target *p, uint64_t now);
/* Call it when the client of an unfinished request is gone. */
void hl_rotate_request_cancel(struct hl_rotate_request *q, struct hl_target *p);

#endif
