/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h - applies pending events to the live table and passes the results to the trace.
 */
#ifndef HL_COLLECT_MATCH_MATCH_H
#define HL_COLLECT_MATCH_MATCH_H

#include "base/attr.h"
#include "collect/match/target_process.h"

/* The parameters that convert a stamp to the trace's time. They are constant until the next
 * scan. */
struct hl_match_clock {
	uint64_t tick;
	int64_t rate;    /* 0: stamps are not times */
	int64_t base_ns; /* the trace's time at `tick` */
};

hl_inline struct hl_match_clock hl_match_clock(const struct hl_target *p)
{
	const struct hl_tsc_clock *t = p->clock;

	return (struct hl_match_clock){.tick = t->tick,
		.rate = t->counter ? 0 : t->rate,
		.base_ns = (int64_t)((t->counter ? p->drain.scan_ns : t->ns) - p->start_ns)};
}

/* The time of a stamp in units of HL_TIME_UNIT_NS. It never decreases. */
hl_inline uint64_t hl_match_units(
	struct hl_target *p, const struct hl_match_clock *c, uint64_t stamp)
{
	int64_t since = hl_tsc_clock_scale((int64_t)(stamp - c->tick), c->rate);
	int64_t units = (c->base_ns + since) >> HL_TIME_UNIT_BITS;
	int64_t last = (int64_t)p->match.last_units;

	/* Branchless: with events this frequent, whether a unit has passed is unpredictable. */
	last = units > last ? units : last;
	return p->match.last_units = (uint64_t)last;
}

hl_inline uint64_t hl_match_time(struct hl_target *p, uint64_t stamp)
{
	const struct hl_match_clock c = hl_match_clock(p);

	return hl_match_units(p, &c, stamp) * HL_TIME_UNIT_NS;
}

/* Records the stamp of the next record, and counts an event whose stamp is below the last one. */
hl_inline void hl_match_note_stamp(struct hl_target *p, uint64_t stamp, bool is_event)
{
	if (hl_unlikely(stamp < p->match.last_stamp))
		p->match.counters.late_events += is_event;
	else
		p->match.last_stamp = stamp;
}

/* Adds a side event, with `len` bytes of text (NULL: none), which are copied. */
void hl_match_extra(struct hl_target *p, struct hl_thread_stream *f, const struct hl_extra *extra,
	const char *text, uint32_t len, uint64_t stamp);

/* Adds every live block to the sampling filter, unless it is there already. */
void hl_match_fill_filter(struct hl_target *p);

/* Applies all pending events and advances the trace's time to this stamp of the thread. */
void hl_match_advance_time(struct hl_target *p, struct hl_thread_stream *f, uint64_t stamp);

/* Returns the thread's number in the trace. Assigns one if it has none yet. */
uint32_t hl_match_thread(struct hl_target *p, struct hl_thread_stream *f);

/* Applies all pending and deferred events, then writes the live set and the END item. Ends the
 * output and closes the writer. */
void hl_match_end(struct hl_target *p, const struct hl_end *end);

#endif
