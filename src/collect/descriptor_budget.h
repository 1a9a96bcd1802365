/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor_budget.h - how the collector divides its descriptors between traces, processes and
 * programs.
 *
 * Every program image needs a few permanently; a file in /proc or a directory needs one or two for
 * a moment. The rest is for traces, which can wait for their turn (write_queue.c), and for
 * optional descriptors: pidfds, and sockets to steer a recording.
 */
#ifndef HL_COLLECT_DESCRIPTOR_BUDGET_H
#define HL_COLLECT_DESCRIPTOR_BUDGET_H

#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ring/region_layout.h"

/* The collector's own limit: every descriptor is below it. */
static inline uint32_t hl_fds_limit(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < UINT32_MAX ? (uint32_t)l.rlim_cur
									    : UINT32_MAX;
}

/* The number of traces of live processes that may be open at the same time. */
static inline uint32_t hl_fds_traces(uint32_t limit)
{
	return limit > HL_FILES_MIN ? (limit - HL_FILES_MIN) / 3 + 1 : 1;
}

/* An optional descriptor stays open only if its number is low. The kernel assigns low numbers
 * first, so the rest is left for others. Returns the descriptor, or -1. */
static inline int hl_fds_keep_optional(int fd)
{
	uint32_t limit = hl_fds_limit();
	uint32_t end = limit > HL_FILES_MIN ? 8 + (limit - HL_FILES_MIN) / 8 * 5 : 8;

	if (fd >= 0 && (uint32_t)fd >= end) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
