/* SPDX-License-Identifier: Apache-2.0 */
/* tsc_clock.c - see tsc_clock.h. */
#include <time.h>

#include "collect/drain/tsc_clock.h"
#include "ring/ring_clock.h"

/* Reads both clocks at the same moment: the tightest of a few tries. */
static void read_both_clocks(uint64_t *tick, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = hl_ring_now(NULL), at = hl_mono_ns(), after = hl_ring_now(NULL);

		if (after - before < best) {
			best = after - before;
			*tick = before + (after - before) / 2;
			*ns = at;
		}
	}
}

static void set_rate(struct hl_tsc_clock *t, double ns_per_tick)
{
	t->ns_per_tick = ns_per_tick;
	t->rate = (int64_t)(ns_per_tick * 4294967296.0);
}

void hl_tsc_clock_init(struct hl_tsc_clock *t, bool counter)
{
	static double rate; /* the same for the whole machine */
	struct timespec pause = {.tv_nsec = 2000000};

	t->counter = counter;
	read_both_clocks(&t->first_tick, &t->first_ns);
	t->tick = t->first_tick;
	t->ns = t->first_ns;
	if (rate == 0) {
		uint64_t tick, ns;

		nanosleep(&pause, NULL);
		read_both_clocks(&tick, &ns);
		rate = (double)(ns - t->first_ns) / (double)(tick - t->first_tick);
	}
	set_rate(t, rate);
}

void hl_tsc_clock_adjust(struct hl_tsc_clock *t)
{
	uint64_t tick, ns;

	read_both_clocks(&tick, &ns);
	if (ns - t->first_ns < 10000000 || tick <= t->tick)
		return;
	t->ns = hl_tsc_clock_ns(t, tick);
	t->tick = tick;
	set_rate(t, (double)(ns - t->first_ns) / (double)(tick - t->first_tick));
}
