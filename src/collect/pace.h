/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - how long the collector's first thread sleeps between two scans of the rings, and when it
 * checks processes and connections. A pure function: it reads no clock and makes no system call.
 *
 * Programs do not announce their events, so the rings are scanned at intervals. The interval adapts
 * itself so that rings are a quarter full at each scan: rare enough to leave the program alone,
 * early enough that they never fill up. A descriptor that becomes ready ends a sleep (wait_set.h).
 *
 * The effects that a sleep can delay, and for how long:
 *   the heartbeat (ring/region_layout.h)   it changes with every scan: HL_PACE_SLEEP_MAX_NS
 *   a tick of an output (flush, samples)   made by the first scan after it is due: the same
 *   a snapshot by clock                    not at all: due_ns ends the sleep
 *   the detection of a dead process        without a pidfd: check_ns and a sleep
 */
#ifndef HL_COLLECT_PACE_H
#define HL_COLLECT_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define HL_PACE_SLEEP_MAX_NS 20000000u
#define HL_PACE_FIRST_NS     20000u     /* the interval at the start */
#define HL_PACE_NEVER        UINT64_MAX /* of due_ns */

/* The state of the collector after a scan. */
struct hl_pace_input {
	uint32_t interval_ns;   /* the last one */
	uint32_t fullest;       /* how full the fullest ring was, in 1/HL_FILL_ALL; 0: empty */
	uint64_t since_data_ns; /* since a ring was last not empty */
	uint64_t due_ns;        /* until the next snapshot by clock */
	bool has_regions, has_targets;
	bool only_samples; /* all regions: no burst of samples fills a ring */
	bool copying;      /* blocks for a base are being copied: continue at once */
	bool crowded;      /* the scan stopped before the end: continue at once */
	bool leaving;      /* a target is gone, and its rings are to be scanned again */
	bool requested;    /* `record` or `heaplapse ctl` waits for an answer */
	bool queue_full;   /* scans are useless until the second thread has written something */
	bool watched;      /* every process and request that may appear ends the sleep */
};

struct hl_pace {
	uint32_t interval_ns; /* for the next call */
	uint32_t sleep_ns;    /* until the next scan; 0: scan at once */
	uint64_t check_ns;    /* the time between two checks of processes and connections */
	bool check;           /* check after the next scan in any case */
};

struct hl_pace hl_pace_next(const struct hl_pace_input *in);

#endif
