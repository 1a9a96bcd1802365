/* clock.c - see clock.h. */
#include <time.h>

#include "collect/clock.h"
#include "ring/clock.h"

uint64_t hl_mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* One moment on both clocks: the tightest of a few tries. */
static void moment(uint64_t *tick, uint64_t *ns)
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

static void set_rate(struct hl_ticks *t, double ns_per_tick)
{
	t->ns_per_tick = ns_per_tick;
	t->rate = (int64_t)(ns_per_tick * 4294967296.0);
}

void hl_ticks_init(struct hl_ticks *t, bool counter)
{
	static double rate; /* the machine has one */
	struct timespec nap = {.tv_nsec = 2000000};

	t->counter = counter;
	moment(&t->first_tick, &t->first_ns);
	t->tick = t->first_tick;
	t->ns = t->first_ns;
	if (rate == 0) {
		uint64_t tick, ns;

		nanosleep(&nap, NULL);
		moment(&tick, &ns);
		rate = (double)(ns - t->first_ns) / (double)(tick - t->first_tick);
	}
	set_rate(t, rate);
}

void hl_ticks_adjust(struct hl_ticks *t)
{
	uint64_t tick, ns;

	moment(&tick, &ns);
	if (ns - t->first_ns < 10000000 || tick <= t->tick)
		return;
	t->ns = hl_ticks_ns(t, tick);
	t->tick = tick;
	set_rate(t, (double)(ns - t->first_ns) / (double)(tick - t->first_tick));
}
