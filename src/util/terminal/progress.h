/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a progress bar for long work, on stderr.
 *
 * Any loop over a file calls begin, tick and end; they do nothing unless the command line switched
 * the bar on. Nothing is shown in the first half second, then there are at most ten updates a
 * second. The bar is erased when the work ends, or when SIGINT, SIGTERM or SIGHUP ends the process,
 * unless another handler is set for them. There is one bar at a time: nested begins are counted,
 * and only the outermost work is shown.
 */
#ifndef HL_UTIL_TERMINAL_PROGRESS_H
#define HL_UTIL_TERMINAL_PROGRESS_H

#include <stdint.h>

/* what: a text such as "reading". It belongs to the caller and must stay valid until the end. */
void hl_progress_begin(const char *what);
/* `done` and `total` are in any unit. This reads the clock: call it for each chunk, not for each
 * event. */
void hl_progress_tick(uint64_t done, uint64_t total);
void hl_progress_end(void);

/* Switches the bar on if stderr is a terminal that can show it and CI is not set. */
void hl_progress_enable(void);
/* Switches the bar off for the rest of the process: --quiet, --json, a pager. */
void hl_progress_disable(void);
/* Erases the bar so that other output can be written. The next tick draws it again. */
void hl_progress_clear(void);

#endif
