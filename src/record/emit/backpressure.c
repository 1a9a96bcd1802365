/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backpressure.c - waits for room in a full ring, but never forever.
 *
 * The wait lasts while the collector's heartbeat advances, at most max_wait_ms. If the heartbeat
 * stops for a second, the wait ends: the event is dropped and counted, and so is every later event
 * that finds no room until the heartbeat advances again. So a program whose collector died runs on
 * at nearly full speed. After a wait of max_wait_ms for a live collector, the next 1000 events that
 * find no room are dropped without a wait. Behind a seccomp filter the thread cannot sleep: it
 * spins for some milliseconds, then drops in the same way.
 *
 * At exit: waits until the trace is complete, at most exit_wait_ms, while the collector exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "record/arch/syscall.h"
#include "record/session/debug_log.h"
#include "record/session/recorder.h"
#include "record/emit/backpressure.h"
#include "record/emit/emit.h"
#include "record/session/connect.h"
#include "record/session/thread.h"

#define SILENCE_NS   UINT64_C(1000000000)
#define SLEEP_NS     10000000 /* a missed wake-up costs at most this */
#define RETRY_NS     100000   /* between attempts to get what other threads hold: at first ... */
#define RETRY_MAX_NS 10000000 /* ... and at most */
#define CHECK_NS     UINT64_C(100000000) /* between checks that the collector exists */
#define SPINS        1000
/* About 20 ms, where the clock cannot be read by a syscall: longer than the collector sleeps. */
#define LONG_SPIN_TICKS UINT64_C(60000000)
#define LONG_SPINS      4000 /* times SPINS, where the cycle counter cannot be read either */
#define SKIP_EVENTS     1000
#define UNTIL_HEARTBEAT UINT32_MAX

static uint64_t now_ns(void)
{
	struct timespec ts;

	hl_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Notices a new collector. The previous one had the stacks that we sent; the next stack is sent
 * whole. */
static void check_epoch(struct hl_thread *t)
{
	uint32_t epoch = atomic_load_explicit(&t->out.ring->epoch, memory_order_relaxed);

	if (t->out.epoch == epoch)
		return;
	t->out.epoch = epoch;
	t->synced_at = UINT64_MAX;
	hl_emit_forget_sent(t);
	t->resync = true;
}

/* True if there is room, or a handler has written meanwhile: then the put starts over at another
 * position. */
static bool can_continue(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	check_epoch(t); /* a new collector may start while we wait, and only then make room */
	return hl_producer_pos(&t->out) != pos || hl_producer_has_room(&t->out, pos, words);
}

static bool spin(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	for (int i = 0; i < SPINS; i++) {
		if (can_continue(t, pos, words))
			return true;
		hl_arch_pause();
	}
	return false;
}

/* Sleeps until the collector has made room, or for at most SLEEP_NS. */
static void sleep_for_room(struct hl_thread *t)
{
	struct hl_ring *ring = t->out.ring;
	struct timespec limit = {.tv_nsec = SLEEP_NS};

	atomic_store(&ring->waiting, 1);
	if (atomic_load(&ring->tail) == t->out.tail)
		hl_sys4(SYS_futex, &ring->waiting, FUTEX_WAIT, 1, &limit);
}

/* When a wait began, and the last heartbeat that was seen. */
struct wait_state {
	uint64_t start, last_beat_ns, beat;
};

static struct wait_state begin_wait(void)
{
	uint64_t now = now_ns();

	return (struct wait_state){now, now, atomic_load(&hl_rec.region->heartbeat)};
}

static bool end_wait(struct hl_thread *t, const struct wait_state *p)
{
	t->wait_ns += now_ns() - p->start;
	return true;
}

/* The heartbeat may stop because the machine is overloaded: hundreds of threads want to run. /proc
 * shows whether the collector is runnable. */
static bool is_runnable(uint32_t pid)
{
	char path[40] = "/proc/", text[128];
	size_t at = 6 + hl_fmt_u64(path + 6, pid);
	long fd, n;

	memcpy(path + at, "/stat", 6);
	fd = hl_sys3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	n = hl_sys3(SYS_read, fd, text, sizeof(text));
	hl_sys1(SYS_close, fd);
	for (long i = 0; i + 2 < n; i++)
		if (text[i] == ')' && text[i + 1] == ' ')
			return text[i + 2] == 'R' || text[i + 2] == 'D';
	return false;
}

static bool is_wait_over(struct wait_state *p)
{
	uint64_t now = now_ns(), beat = atomic_load(&hl_rec.region->heartbeat);

	if (beat != p->beat) {
		p->beat = beat;
		p->last_beat_ns = now;
	}
	if (now - p->last_beat_ns > SILENCE_NS &&
		is_runnable(atomic_load(&hl_rec.region->collector_pid)))
		p->last_beat_ns = now;
	return now - p->last_beat_ns > SILENCE_NS ||
	       now - p->start > hl_rec.max_wait_ms * UINT64_C(1000000);
}

struct hl_thread *hl_wait_for_ring(struct hl_thread *t)
{
	struct timespec moment = {.tv_nsec = RETRY_NS};
	struct wait_state p;

	if (!t || !t->shared || hl_rec.no_syscalls)
		return t;
	for (p = begin_wait(); t && t->shared && !is_wait_over(&p); t = hl_thread_claim()) {
		hl_sys2(SYS_nanosleep, &moment, NULL);
		/* Hundreds of threads may wait at once; frequent attempts would take the
		 * collector's CPU time. */
		if (moment.tv_nsec < RETRY_MAX_NS)
			moment.tv_nsec *= 2;
	}
	return t;
}

static void give_up(struct hl_thread *t, const struct wait_state *p)
{
	uint64_t waited = now_ns() - p->start;

	t->wait_ns += waited;
	t->silent_beat = p->beat;
	t->skip_waits = now_ns() - p->last_beat_ns > SILENCE_NS ? UNTIL_HEARTBEAT : SKIP_EVENTS;
	hl_debug_log(
		HL_LEVEL_WARN, "events are dropped, the collector is silent; waited ns", waited);
}

static bool wait_long(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	struct wait_state p = begin_wait();

	if (spin(t, pos, words))
		return end_wait(t, &p);
	/* Another thread may install a seccomp filter while we wait. */
	while (!hl_rec.no_syscalls) {
		sleep_for_room(t);
		if (can_continue(t, pos, words))
			return end_wait(t, &p);
		if (is_wait_over(&p)) {
			give_up(t, &p);
			return false;
		}
	}
	return false;
}

/* How long a spin has lasted. */
struct spin_time {
	uint64_t from;
	uint32_t n;
};

static bool can_spin_on(struct spin_time *t)
{
	if (hl_rec.stamp_mode == HL_STAMP_NONE)
		return t->n++ < LONG_SPINS;
	if (!t->n++)
		t->from = hl_arch_stamp();
	return hl_arch_stamp() - t->from < LONG_SPIN_TICKS;
}

/* Behind a seccomp filter the thread can neither sleep nor read the clock. If the collector makes
 * no room, later events do not wait until its heartbeat advances. */
static bool spin_long(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	uint64_t beat = atomic_load(&hl_rec.region->heartbeat);

	for (struct spin_time n = {0}; can_spin_on(&n);)
		if (spin(t, pos, words))
			return true;
	t->silent_beat = beat;
	t->skip_waits = UNTIL_HEARTBEAT;
	return false;
}

/* True if an earlier wait was given up and this event must not wait: until the next heartbeat if
 * the collector was silent, for SKIP_EVENTS events if it was slow. */
static bool skip_wait(struct hl_thread *t)
{
	if (t->skip_waits == UNTIL_HEARTBEAT &&
		atomic_load(&hl_rec.region->heartbeat) != t->silent_beat)
		t->skip_waits = 0;
	if (!t->skip_waits)
		return false;
	if (t->skip_waits != UNTIL_HEARTBEAT)
		t->skip_waits--;
	return true;
}

bool hl_wait_for_room(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	if (hl_rec.phase == HL_PHASE_EARLY || !hl_rec.region)
		return false; /* the early buffer is not drained */
	if (skip_wait(t))
		return false;
	return hl_rec.no_syscalls ? spin_long(t, pos, words) : wait_long(t, pos, words);
}

bool hl_wait_for(struct hl_thread *t, bool (*try)(struct hl_thread *t))
{
	struct timespec moment = {.tv_nsec = RETRY_NS};
	struct wait_state p;

	if (hl_rec.no_syscalls || skip_wait(t))
		return false;
	for (p = begin_wait(); !hl_rec.no_syscalls && !is_wait_over(&p);) {
		hl_sys2(SYS_nanosleep, &moment, NULL);
		if (try(t))
			return true;
		/* A thousand threads with frequent attempts would leave no CPU time for others. */
		if (moment.tv_nsec < RETRY_MAX_NS)
			moment.tv_nsec *= 2;
	}
	give_up(t, &p);
	return false;
}

/* Also false if the collector is in another pid namespace; then there is no wait. */
static bool collector_exists(void)
{
	return hl_sys2(SYS_kill, atomic_load(&hl_rec.region->collector_pid), 0) != -ESRCH;
}

hl_cold void hl_wait_for_trace(struct hl_ring *ring)
{
	uint32_t claim = atomic_load(&ring->claim), seen;
	uint64_t now = now_ns(), end = now + hl_rec.exit_wait_ms * UINT64_C(1000000);

	hl_connect_wake(hl_rec.region->inode);
	for (; now < end && !hl_rec.no_syscalls && collector_exists(); now = now_ns()) {
		struct timespec limit = {.tv_nsec = (long)hl_min_u64(end - now, CHECK_NS)};

		seen = atomic_load(&ring->exit_ack);
		if (seen == claim)
			return;
		hl_sys4(SYS_futex, &ring->exit_ack, FUTEX_WAIT, seen, &limit);
	}
}
