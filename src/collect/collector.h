/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector.h - the process that reads events of programs and writes traces.
 *
 * `heaplapse record` runs one for all programs that it starts: they connect to a socket
 * (listener.h) and each gets a region. Under a bare LD_PRELOAD the library starts one for itself,
 * with its region as descriptor 3. The collector continues after `record` has ended, as long as a
 * target lives.
 */
#ifndef HL_COLLECT_COLLECTOR_H
#define HL_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/control/listener.h"
#include "collect/control/messages.h"
#include "collect/drain/region.h"

struct hl_collector_start {
	struct hl_collect_settings settings;
	const struct hl_listener *listener; /* NULL: no further programs connect */
	int control_fd;                     /* to `record`; -1: none */
	int region_fd;                      /* bare LD_PRELOAD: the region's memfd, or -1 */
	uint64_t region_pid;
	/* The first trace of the session and its process, from a collector that died; NULL: none
	 * did. */
	const char *first_trace;
	uint64_t first_pid;
	const char *session; /* the value of HL_SESSION_VARIABLE; NULL: none */
	/* Regions of a previous collector, with their pids. */
	const int *orphan_fds;
	const uint64_t *orphan_pids;
	size_t n_orphans;
	/* Called by the second thread when a file is closed without error; may be NULL. continued:
	 * another file has the rest of the recording. */
	void (*on_trace)(const char *path, bool continued);
	/* Report each snapshot: by on_snapshot, in the second thread, or by a message if it is
	 * NULL. */
	bool verbose;
	void (*on_snapshot)(const char *sentence);
};

/* Runs until there is nothing left to record. 0 or -errno. Takes ownership of all descriptors. */
int hl_collector_run(const struct hl_collector_start *start);

/* Detaches this process from the program: no terminal, signal or descriptor of the program reaches
 * it. */
void hl_collector_detach(const int *keep, size_t n_keep);

#endif
