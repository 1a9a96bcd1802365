/*
 * steer.c - see steer.h. Samples are taken by bytes: a thread counts down a distance that is
 * exponentially distributed, so that a block of S bytes is taken with probability 1 - exp(-S/R),
 * whatever came before it. What a sample stands for is the collector's to reckon.
 */
#include "base/hash.h"
#include "record/api.h"
#include "record/steer.h"

_Atomic uint64_t hl_steer_told[1 << HL_STEER_TOLD_BITS];

/* ln(x) for x in (0, 1]; off by less than 1e-9. */
static double natural_log(double x)
{
	union {
		double d;
		uint64_t u;
	} v = {.d = x};
	int e = (int)(v.u >> 52) - 1023;
	double s, q;

	v.u = (v.u & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52; /* 1 <= v.d < 2 */
	if (v.d > 1.4142135623730951) {
		v.d /= 2;
		e++;
	}
	s = (v.d - 1) / (v.d + 1);
	q = s * s;
	s = 2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q / 11)))));
	return e * 0.6931471805599453 + s;
}

static uint64_t next_random(struct hl_thread *t)
{
	if (!t->random) {
		uint64_t seed =
			atomic_load_explicit(&hl_rec.region->sample_seed, memory_order_relaxed);

		uint64_t ring = (uint64_t)((char *)t->out.ring - (char *)hl_rec.region);

		t->random =
			seed ? hl_hash_pair(seed, ring ^ t->serial)
			     : hl_hash_pair(hl_arch_stamp(), (uint64_t)t->tid << 32 | hl_rec.pid);
		t->random |= 1;
	}
	t->random += HL_HASH_K;
	return hl_hash_u64(t->random);
}

/* Whole bytes to the next sample: a block is one if it is larger than that. */
static hl_noinline uint64_t draw(struct hl_thread *t, uint64_t rate)
{
	double u = (double)((next_random(t) >> 11) + 1) * 0x1p-53; /* 0 < u <= 1 */
	double distance = -natural_log(u) * (double)rate;

	return distance < 0x1p62 ? (uint64_t)distance : UINT64_C(1) << 62;
}

static hl_noinline bool take_sample(struct hl_thread *t, size_t size, uint64_t rate)
{
	if (t->sample_rate != rate) { /* the first, or the rate has changed */
		t->sample_rate = rate;
		t->until_sample = draw(t, rate);
	}
	if (size <= t->until_sample) {
		t->until_sample -= size;
		return false;
	}
	t->until_sample = draw(t, rate);
	return true;
}

enum hl_take hl_steer_ask_alloc(struct hl_thread *t, const void *addr, size_t size, uint64_t *rate)
{
	uint32_t steer = hl_steer();

	if (hl_unlikely(steer & (HL_STEER_STOP | HL_STEER_PAUSED) || atomic_load(&hl_rec.paused))) {
		if (steer & (HL_STEER_STOP | HL_STEER_START))
			hl_steer_obey();
		if (steer & HL_STEER_PAUSED || atomic_load(&hl_rec.paused) ||
			!atomic_load(&hl_alive.on))
			return HL_TAKE_NOT;
	}
	if (hl_steer_mode(steer) != HL_MODE_SAMPLE)
		return steer & HL_STEER_PART ? HL_TAKE_NOT : HL_TAKE_ALL;
	/* A new rate has a new word, which is written after it: what is drawn here is good for as
	 * long as the word stays. */
	atomic_thread_fence(memory_order_acquire);
	*rate = atomic_load_explicit(&hl_rec.region->sample_bytes, memory_order_relaxed);
	t->passing = hl_steer_samples(steer) && !(hl_rec.settings & HL_SET_ZERO) ? steer : 0;
	if (hl_likely(t->sample_rate == *rate && size <= t->until_sample)) {
		t->until_sample -= size;
		return HL_TAKE_NOT;
	}
	if (!*rate) {
		t->passing = 0;
		return HL_TAKE_NOT;
	}
	if (!take_sample(t, size, *rate))
		return HL_TAKE_NOT;
	hl_steer_know((uintptr_t)addr);
	return HL_TAKE_SAMPLE;
}

bool hl_steer_ask_free(const void *addr)
{
	uint32_t steer = hl_steer();

	if (hl_unlikely(steer & HL_STEER_STOP)) {
		hl_steer_obey();
		if (!atomic_load(&hl_alive.on))
			return false;
	}
	if (!(steer & HL_STEER_PART) || (steer & HL_STEER_ALL_FREES))
		return true;
	return hl_steer_mode(steer) == HL_MODE_SAMPLE &&
	       !hl_steer_is_unknown(steer, (uintptr_t)addr);
}

hl_cold void hl_steer_obey(void)
{
	uint32_t steer = hl_steer(), number = steer >> HL_STEER_SHIFT, seen = hl_rec.steer_seen;

	if (number == seen || hl_tls.busy)
		return;
	if (!__atomic_compare_exchange_n(
		    &hl_rec.steer_seen, &seen, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return; /* another thread does */
	if (steer & HL_STEER_STOP) {
		heaplapse_impl_stop();
	} else if (steer & HL_STEER_START) {
		heaplapse_impl_start();
		heaplapse_impl_resume();
	}
}
