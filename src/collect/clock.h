/*
 * clock.h - from stamps to nanoseconds.
 *
 * Counter ticks become CLOCK_MONOTONIC by a rate that is measured over the whole run and set anew
 * now and then; each new rate starts where the old one had got to, so time never jumps.
 */
#ifndef HL_COLLECT_CLOCK_H
#define HL_COLLECT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/record.h"

struct hl_ticks {
	bool counter; /* stamps are a shared count, not time */
	uint64_t first_tick, first_ns;
	uint64_t tick, ns; /* the anchor */
	double ns_per_tick;
	int64_t rate; /* the same, times 2^32 */
};

uint64_t hl_mono_ns(void);

/* Takes about 2 ms the first time in a process. */
void hl_ticks_init(struct hl_ticks *t, bool counter);
/* A better rate from here on. */
void hl_ticks_adjust(struct hl_ticks *t);
/* So many ticks in ns, by a rate as above. */
static inline int64_t hl_ticks_scale(int64_t ticks, int64_t rate)
{
	return (int64_t)((__int128)ticks * rate >> 32);
}

/* CLOCK_MONOTONIC at a stamp of 64 bits. */
static inline uint64_t hl_ticks_ns(const struct hl_ticks *t, uint64_t tick)
{
	return t->ns + (uint64_t)hl_ticks_scale((int64_t)(tick - t->tick), t->rate);
}

/* The whole stamp from its low 54 bits: the one nearest to `near`. */
static inline uint64_t hl_ticks_extend(uint64_t near, uint64_t stamp)
{
	/* The difference, sign-extended from 54 bits. */
	int64_t d = (int64_t)((stamp - near) << HL_STAMP_SHIFT) >> HL_STAMP_SHIFT;

	return near + (uint64_t)d;
}

/* The whole stamp of a record by its first word; inside one ring, ring order wins: it is not below
 * that of the record before it. */
static inline uint64_t hl_ticks_stamp(uint64_t word, uint64_t before, uint64_t near, bool counter)
{
	uint64_t low = word >> HL_STAMP_SHIFT;
	uint64_t s = counter ? low : hl_ticks_extend(near, low);

	return s > before ? s : before;
}

#endif
