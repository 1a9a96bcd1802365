/*
 * wait.c - a full ring: wait, but never hang.
 *
 * We wait while the collector's heart beats, at most max_wait_ms. A heart that is silent for a
 * second ends the wait at once: the event is dropped and counted, and the next thousand are not
 * even tried for, so that a program whose collector died runs on at nearly its own speed.
 */
#include <linux/futex.h>
#include <time.h>

#include "record/arch/syscall.h"
#include "record/log.h"
#include "record/recorder.h"

#define SILENCE_NS   UINT64_C(1000000000)
#define NAP_NS       10000000 /* a missed wake-up costs no more than this */
#define SPINS        1000
#define SKIP_EVENTS  1000

static uint64_t now_ns(void)
{
	struct timespec ts;

	hl_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool spin(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	for (int i = 0; i < SPINS; i++) {
		if (hl_producer_has_room(&t->out, pos, words))
			return true;
		hl_arch_pause();
	}
	return false;
}

/* Sleeps until the collector has made room, or a moment. */
static void nap(struct hl_thread *t)
{
	struct hl_ring *ring = t->out.ring;
	struct timespec limit = {.tv_nsec = NAP_NS};

	atomic_store(&ring->waiting, 1);
	if (atomic_load(&ring->tail) == t->out.tail)
		hl_sys4(SYS_futex, &ring->waiting, FUTEX_WAIT, 1, &limit);
}

static bool wait_long(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	struct hl_region *region = hl_rec.region;
	uint64_t start = now_ns(), heard = start, beat = atomic_load(&region->heartbeat);

	for (;;) {
		uint64_t now, b;

		nap(t);
		now = now_ns();
		if (hl_producer_has_room(&t->out, pos, words)) {
			t->wait_ns += now - start;
			return true;
		}
		b = atomic_load(&region->heartbeat);
		if (b != beat) {
			beat = b;
			heard = now;
		}
		if (now - heard > SILENCE_NS || now - start > hl_rec.max_wait_ms * UINT64_C(1000000)) {
			t->wait_ns += now - start;
			t->silent_beat = beat;
			t->skip = SKIP_EVENTS;
			hl_log("the collector is silent, dropping; waited ns", now - start);
			return false;
		}
	}
}

bool hl_wait_for_room(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	if (hl_rec.phase == HL_PHASE_EARLY || !hl_rec.region)
		return false; /* nobody drains the early buffer */
	if (t->skip && atomic_load(&hl_rec.region->heartbeat) == t->silent_beat) {
		t->skip--;
		return false;
	}
	t->skip = 0;
	if (spin(t, pos, words))
		return true;
	return !hl_rec.no_syscalls && wait_long(t, pos, words);
}
