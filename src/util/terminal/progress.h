/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - the progress of long work (util/work/work.h) as a bar on stderr.
 *
 * Nothing is shown in the first half second, then there are at most ten updates a second. The bar
 * is erased when the work ends, or when SIGINT, SIGTERM or SIGHUP ends the process, unless another
 * handler is set for them. A process has one stderr, so there is one bar at a time, and its state
 * belongs to the process.
 */
#ifndef HL_UTIL_TERMINAL_PROGRESS_H
#define HL_UTIL_TERMINAL_PROGRESS_H

#include <stdint.h>

/* The progress callback of a work; `arg` is not used. */
void hl_progress_show(void *arg, const char *what, uint64_t done, uint64_t total);

/* Switches the bar on if stderr is a terminal that can show it and CI is not set. */
void hl_progress_enable(void);
/* Switches the bar off for the rest of the process: --quiet, --json, a pager. */
void hl_progress_disable(void);
/* Erases the bar so that other output can be written. The next tick draws it again. */
void hl_progress_clear(void);

#endif
