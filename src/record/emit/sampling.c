/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling.c - see sampling.h.
 *
 * Samples are chosen by bytes. A thread counts down a distance that is exponentially distributed,
 * so a block of S bytes is sampled with probability 1 - exp(-S/R), independent of earlier blocks.
 * The collector computes how many blocks a sample stands for.
 */
#include "base/hash.h"
#include "record/hooks/api.h"
#include "record/emit/sampling.h"

_Atomic uint64_t hl_sent_frees[1 << HL_SENT_FREES_BITS];

/* ln(x) for x in (0, 1]; the error is below 1e-9. */
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

/* Whole bytes up to the next sample. A block that is larger than this distance is sampled. */
static hl_noinline uint64_t draw_distance(struct hl_thread *t, uint64_t rate)
{
	double u = (double)((next_random(t) >> 11) + 1) * 0x1p-53; /* 0 < u <= 1 */
	double distance = -natural_log(u) * (double)rate;

	return distance < 0x1p62 ? (uint64_t)distance : UINT64_C(1) << 62;
}

static hl_noinline bool take_sample(struct hl_thread *t, size_t size, uint64_t rate)
{
	if (t->sample_rate != rate) { /* the first draw, or the rate has changed */
		t->sample_rate = rate;
		t->until_sample = draw_distance(t, rate);
	}
	if (size <= t->until_sample) {
		t->until_sample -= size;
		return false;
	}
	t->until_sample = draw_distance(t, rate);
	return true;
}

enum hl_decision hl_sampling_decide_alloc(
	struct hl_thread *t, const void *addr, size_t size, uint64_t *rate)
{
	uint32_t control = hl_control();

	if (hl_unlikely(control & (HL_CONTROL_STOP | HL_CONTROL_PAUSED) ||
			atomic_load(&hl_rec.paused))) {
		if (control & (HL_CONTROL_STOP | HL_CONTROL_START))
			hl_sampling_apply_request();
		if (control & HL_CONTROL_PAUSED || atomic_load(&hl_rec.paused) ||
			!atomic_load(&hl_fork_page.on))
			return HL_SKIP;
	}
	if (hl_control_mode(control) != HL_MODE_SAMPLE)
		return control & HL_CONTROL_PARTIAL ? HL_SKIP : HL_RECORD;
	/* The collector writes a new rate before the new control word. So a distance drawn here is
	 * valid for as long as the control word stays the same. */
	atomic_thread_fence(memory_order_acquire);
	*rate = atomic_load_explicit(&hl_rec.region->sample_bytes, memory_order_relaxed);
	t->skip_control =
		hl_control_samples_only(control) && !(hl_rec.settings & HL_SET_ZERO) ? control : 0;
	if (hl_likely(t->sample_rate == *rate && size <= t->until_sample)) {
		t->until_sample -= size;
		return HL_SKIP;
	}
	if (!*rate) {
		t->skip_control = 0;
		return HL_SKIP;
	}
	if (!take_sample(t, size, *rate))
		return HL_SKIP;
	hl_sampling_add_block((uintptr_t)addr);
	return HL_RECORD_SAMPLE;
}

bool hl_sampling_decide_free(const void *addr)
{
	uint32_t control = hl_control();

	if (hl_unlikely(control & HL_CONTROL_STOP)) {
		hl_sampling_apply_request();
		if (!atomic_load(&hl_fork_page.on))
			return false;
	}
	if (!(control & HL_CONTROL_PARTIAL) || (control & HL_CONTROL_ALL_FREES))
		return true;
	return hl_control_mode(control) == HL_MODE_SAMPLE &&
	       !hl_sampling_is_unsampled(control, (uintptr_t)addr);
}

hl_cold void hl_sampling_apply_request(void)
{
	uint32_t control = hl_control(), change = control >> HL_CONTROL_SHIFT,
		 seen = hl_rec.control_seen;

	if (change == seen || hl_tls.busy)
		return;
	if (!__atomic_compare_exchange_n(
		    &hl_rec.control_seen, &seen, change, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return; /* another thread applies the request */
	if (control & HL_CONTROL_STOP) {
		heaplapse_impl_stop();
	} else if (control & HL_CONTROL_START) {
		heaplapse_impl_start();
		heaplapse_impl_resume();
	}
}
