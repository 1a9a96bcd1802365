/*
 * books.h - what happens to a block: from pending events to events in the trace.
 */
#ifndef HL_COLLECT_BOOKS_H
#define HL_COLLECT_BOOKS_H

#include "base/attr.h"
#include "collect/proc.h"

/* The trace's time of a stamp: in units, never falling. */
hl_inline uint64_t hl_books_time(struct hl_proc *p, uint64_t stamp)
{
	uint64_t ns = p->ticks->counter ? p->scan_ns : hl_ticks_ns(p->ticks, stamp);
	uint64_t t = (ns > p->start_ns ? ns - p->start_ns : 0) & ~(uint64_t)(HL_TIME_UNIT_NS - 1);

	if (t > p->last_time)
		p->last_time = t;
	return p->last_time;
}

/* Something between the heap events, with `len` bytes of text. */
void hl_books_extra(struct hl_proc *p, struct hl_feed *f, const struct hl_extra *extra,
	const char *text, uint32_t len, uint64_t stamp);

/* Every block that is live goes into the filter, if it is not there yet. */
void hl_books_fill_filter(struct hl_proc *p);

/* It is so late by now, says this thread. */
void hl_books_pass_time(struct hl_proc *p, struct hl_feed *f, uint64_t stamp);

/* The thread's number in the trace, which it gets here if it has none yet. */
uint32_t hl_books_thread(struct hl_proc *p, struct hl_feed *f);

/* All that is pending or parked, the live set, and the END item. */
void hl_books_end(struct hl_proc *p, const struct hl_end *end);

#endif
