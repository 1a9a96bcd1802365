/*
 * books.h - what happens to a block: from pending events to events in the trace.
 */
#ifndef HL_COLLECT_BOOKS_H
#define HL_COLLECT_BOOKS_H

#include "base/attr.h"
#include "collect/proc.h"

/* What the trace's time of a stamp is made of, until the next scan. */
struct hl_books_clock {
	uint64_t tick;
	int64_t rate;    /* 0: stamps are no time */
	int64_t from_ns; /* of that tick, in the trace's time */
};

hl_inline struct hl_books_clock hl_books_clock(const struct hl_proc *p)
{
	const struct hl_ticks *t = p->ticks;

	return (struct hl_books_clock){.tick = t->tick,
		.rate = t->counter ? 0 : t->rate,
		.from_ns = (int64_t)((t->counter ? p->scan_ns : t->ns) - p->start_ns)};
}

/* In units, never falling. */
hl_inline uint64_t hl_books_units(struct hl_proc *p, const struct hl_books_clock *c, uint64_t stamp)
{
	int64_t since = hl_ticks_scale((int64_t)(stamp - c->tick), c->rate);
	int64_t units = (c->from_ns + since) >> HL_TIME_UNIT_BITS;
	int64_t last = (int64_t)p->last_units;

	/* Without a branch: whether a unit has passed is chance where events come that fast. */
	last = units > last ? units : last;
	return p->last_units = (uint64_t)last;
}

hl_inline uint64_t hl_books_time(struct hl_proc *p, uint64_t stamp)
{
	const struct hl_books_clock c = hl_books_clock(p);

	return hl_books_units(p, &c, stamp) * HL_TIME_UNIT_NS;
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
