/*
 * progress.h - how far long work has come, on the terminal of whoever waits for it.
 *
 * Whoever has a loop over a file calls begin, tick and end, wherever it is: they do nothing unless
 * the command line switched the bar on. Nothing is shown in the first half second, then at most ten
 * times a second; the line is gone when the work is done, or when SIGINT, SIGTERM or SIGHUP end it,
 * unless somebody else handles them. One piece of work at a time: a begin
 * inside of another is counted, and only the outer one is shown.
 */
#ifndef HL_UTIL_PROGRESS_H
#define HL_UTIL_PROGRESS_H

#include <stdint.h>

/* what: "reading", belongs to the caller until the end. */
void hl_progress_begin(const char *what);
/* Done so far, of the total, in any unit; reads the clock, so once a chunk, not once an event. */
void hl_progress_tick(uint64_t done, uint64_t total);
void hl_progress_end(void);

/* Switches the bar on if stderr is a terminal that can show one, and CI is not set. */
void hl_progress_allow(void);
/* For good: --quiet, --json, a pager. */
void hl_progress_never(void);
/* Takes the line away so that something else can be written; the next tick brings it back. */
void hl_progress_clear(void);

#endif
