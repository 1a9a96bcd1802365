/*
 * fds.h - how the collector divides its descriptors between traces, processes and programs.
 *
 * Every program image takes a few for good, a file in /proc or a folder one or two for a moment.
 * What is left is for traces, which can wait for their turn (output.c), and for what the collector
 * can do without: pidfds, and sockets to steer a recording from.
 */
#ifndef HL_COLLECT_FDS_H
#define HL_COLLECT_FDS_H

#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ring/layout.h"

/* The collector's own limit: no descriptor reaches this number. */
static inline uint32_t hl_fds_limit(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < UINT32_MAX ? (uint32_t)l.rlim_cur
									    : UINT32_MAX;
}

/* So many traces of processes that live are open at once. */
static inline uint32_t hl_fds_traces(uint32_t limit)
{
	return limit > HL_FILES_LEAST ? (limit - HL_FILES_LEAST) / 3 + 1 : 1;
}

/* One that the collector can do without: it stays open only if its number is low, which the kernel
 * gives out first, so that the rest is left for others. The descriptor, or -1. */
static inline int hl_fds_optional(int fd)
{
	uint32_t limit = hl_fds_limit();
	uint32_t end = limit > HL_FILES_LEAST ? 8 + (limit - HL_FILES_LEAST) / 8 * 5 : 8;

	if (fd >= 0 && (uint32_t)fd >= end) {
		close(fd);
		return -1;
	}
	return fd;
}

#endif
