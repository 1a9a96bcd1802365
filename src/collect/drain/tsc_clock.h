/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsc_clock.h - converts stamps to nanoseconds.
 *
 * Ticks of the cycle counter are converted to CLOCK_MONOTONIC by a rate that is measured over the
 * whole run and adjusted regularly. Each new rate starts at the time that the old one had reached,
 * so time never jumps.
 */
#ifndef HL_COLLECT_DRAIN_TSC_CLOCK_H
#define HL_COLLECT_DRAIN_TSC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/ring_record.h"
#include "util/mono_clock.h"

struct hl_tsc_clock {
	bool counter; /* stamps are a shared counter, not time */
	uint64_t first_tick, first_ns;
	uint64_t tick, ns; /* the anchor */
	double ns_per_tick;
	int64_t rate; /* ns_per_tick * 2^32 */
};

/* Takes about 2 ms the first time in a process. */
void hl_tsc_clock_init(struct hl_tsc_clock *t, bool counter);
/* Measures the rate again and uses it from here on. */
void hl_tsc_clock_adjust(struct hl_tsc_clock *t);
/* Converts ticks to ns; rate as in hl_tsc_clock. */
static inline int64_t hl_tsc_clock_scale(int64_t ticks, int64_t rate)
{
	return (int64_t)((__int128)ticks * rate >> 32);
}

/* CLOCK_MONOTONIC at a stamp of 64 bits. */
static inline uint64_t hl_tsc_clock_ns(const struct hl_tsc_clock *t, uint64_t tick)
{
	return t->ns + (uint64_t)hl_tsc_clock_scale((int64_t)(tick - t->tick), t->rate);
}

/* Extends a stamp from its low 54 bits: the value nearest to `near`. */
static inline uint64_t hl_tsc_clock_extend(uint64_t near, uint64_t stamp)
{
	/* The difference, sign-extended from 54 bits. */
	int64_t d = (int64_t)((stamp - near) << HL_STAMP_SHIFT) >> HL_STAMP_SHIFT;

	return near + (uint64_t)d;
}

/* The full stamp of a record, from its first word. It is not below `before`, the stamp of its
 * predecessor: within a ring, the order of the ring takes precedence. */
static inline uint64_t hl_tsc_clock_stamp(
	uint64_t word, uint64_t before, uint64_t near, bool counter)
{
	uint64_t low = word >> HL_STAMP_SHIFT;
	uint64_t s = counter ? low : hl_tsc_clock_extend(near, low);

	return s > before ? s : before;
}

#endif
