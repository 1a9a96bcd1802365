/*
 * fds.h - how the collector divides its descriptors between traces, processes and programs.
 *
 * Every program image takes a few for good, a file in /proc or a folder one or two for a moment.
 * What is left is for traces, which can wait for their turn (output.c), and for pidfds, which the
 * collector can do without.
 */
#ifndef HL_COLLECT_FDS_H
#define HL_COLLECT_FDS_H

#include <stdint.h>
#include <sys/resource.h>

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

/* The kernel gives out the lowest number that is free: pidfds end here, the rest is for others. */
static inline uint32_t hl_fds_pids_end(uint32_t limit)
{
	return limit / 8 * 5;
}

#endif
