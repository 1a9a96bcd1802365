/* timed.c - see timed.h. */
#include "base/bits.h"
#include "record/timed.h"

/* A sample that is longer was interrupted by somebody. */
#define TIMED_MAX 16384u

/* Between two readings of the counter lies the time of one. */
hl_cold static uint32_t measure_stamp(void)
{
	uint64_t least = TIMED_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t from = hl_arch_stamp();

		least = hl_min_u64(least, hl_arch_stamp() - from);
	}
	return (uint32_t)least;
}

hl_cold struct hl_timed hl_timed_start(struct hl_thread *t)
{
	struct hl_timed w = {.waited = t->wait_ns};

	t->until_timed = HL_TIMED_EVERY;
	if (hl_rec.stamp_mode != HL_STAMP_TSC)
		return w;
	if (!hl_rec.stamp_ticks) {
		hl_rec.around_ticks = hl_hooks_ticks_around();
		hl_rec.stamp_ticks = measure_stamp();
	}
	w.from = hl_arch_stamp();
	return w;
}

/* One that waited is in wait_ns already. */
hl_cold void hl_timed_stop(struct hl_thread *t, struct hl_timed w)
{
	uint64_t ticks = hl_arch_stamp() - w.from;

	if (t->wait_ns == w.waited && ticks > hl_rec.stamp_ticks)
		t->timed_ticks +=
			hl_min_u64(ticks - hl_rec.stamp_ticks + hl_rec.around_ticks, TIMED_MAX);
}
