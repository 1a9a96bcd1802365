/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_ack.h - notifies a process that waits at its exit that its trace is complete.
 *
 * Either thread may do it. It uses a mapping of its own, because the first thread may replace that
 * of the region at any time (hl_region_is_over()).
 */
#ifndef HL_COLLECT_OUTPUT_EXIT_ACK_H
#define HL_COLLECT_OUTPUT_EXIT_ACK_H

#include <stdint.h>

/* The waiting process: the owner `claim` of this ring. claim 0: none. */
struct hl_exit_ack {
	uint32_t ring, claim;
};

/* 0 or -errno. Does nothing if no process waits, or when the region is sealed: then no process maps
 * it. */
int hl_exit_ack_send(int memfd, const struct hl_exit_ack *ack);

#endif
