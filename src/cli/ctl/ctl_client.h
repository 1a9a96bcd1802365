/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_client.h - sends a request to the collector of a region. */
#ifndef HL_CLI_CTL_CTL_CLIENT_H
#define HL_CLI_CTL_CTL_CLIENT_H

#include "collect/control/ctl.h"

#define HL_CTL_TIMEOUT_MS 5000

/* Asks the collector of the region with this inode, and waits for it at most for timeout_ms.
 * Returns 0, or -errno: -ETIMEDOUT: it does not answer; -EACCES or -ECONNRESET: it belongs to
 * another user; -EPROTO: another version; else there is none. a->error is the collector's answer.
 */
int hl_ctl_ask(
	uint64_t inode, const struct hl_ctl_request *q, struct hl_ctl_answer *a, int timeout_ms);
/* Announces a follower of the process, and does not wait for the answer. Returns a connection, or
 * -1. The process is followed until the connection is closed. It becomes readable with the answer,
 * and at its end when the collector ends. */
int hl_ctl_follow(uint64_t pid);

#endif
