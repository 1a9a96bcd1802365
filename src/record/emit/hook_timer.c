/* SPDX-License-Identifier: Apache-2.0 */
/* hook_timer.c - see hook_timer.h. */
#include "base/bits.h"
#include "record/emit/hook_timer.h"
#include "record/hooks/hooks.h"

/* A longer measurement was interrupted by the kernel or by a signal handler. */
#define TIMED_MAX 16384u

/* The cost of reading the counter: the difference between two consecutive readings. */
hl_cold static uint32_t measure_stamp(void)
{
	uint64_t least = TIMED_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t from = hl_arch_stamp();

		least = hl_min_u64(least, hl_arch_stamp() - from);
	}
	return (uint32_t)least;
}

hl_cold struct hl_hook_timer hl_hook_timer_start(struct hl_thread *t)
{
	struct hl_hook_timer w = {.waited = t->wait_ns};

	t->until_timed = HL_HOOK_TIMER_EVERY;
	if (hl_rec.stamp_mode != HL_STAMP_TSC)
		return w;
	if (!hl_rec.stamp_ticks) {
		hl_rec.overhead_ticks = hl_hooks_overhead_ticks();
		hl_rec.stamp_ticks = measure_stamp();
	}
	w.from = hl_arch_stamp();
	return w;
}

/* A call that waited for room is not counted here: its time is in wait_ns already. */
hl_cold void hl_hook_timer_stop(struct hl_thread *t, struct hl_hook_timer w)
{
	uint64_t ticks = hl_arch_stamp() - w.from;

	if (t->wait_ns == w.waited && ticks > hl_rec.stamp_ticks)
		t->timed_ticks +=
			hl_min_u64(ticks - hl_rec.stamp_ticks + hl_rec.overhead_ticks, TIMED_MAX);
}
