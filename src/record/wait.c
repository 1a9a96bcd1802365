/*
 * wait.c - a full ring: wait, but never hang.
 *
 * We wait while the collector's heart beats, at most max_wait_ms. A heart that is silent for a
 * second ends the wait at once: the event is dropped and counted, and so is all that finds no room
 * until the heart beats again: a program whose collector died runs on at nearly its own speed.
 * After the longest wait for a collector that lives the next thousand are dropped without one.
 * Behind a seccomp filter there is no sleeping: a spin of some milliseconds, then the same.
 *
 * At exit: wait for the trace to be complete, at most exit_wait_ms, while the collector exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "record/arch/syscall.h"
#include "record/log.h"
#include "record/recorder.h"

#define SILENCE_NS  UINT64_C(1000000000)
#define NAP_NS      10000000            /* a missed wake-up costs no more than this */
#define TURN_NS     100000              /* between tries for what others hold: at first ... */
#define TURN_MAX_NS 10000000            /* ... and at last */
#define LOOK_NS     UINT64_C(100000000) /* between looks whether the collector exists */
#define SPINS       1000
/* Some 20 ms, where nobody may ask the time: longer than the collector sleeps. */
#define LONG_TICKS  UINT64_C(60000000)
#define LONG_SPINS  4000 /* times SPINS, where not even the counter may be read */
#define SKIP_EVENTS 1000
#define UNTIL_BEAT  UINT32_MAX

static uint64_t now_ns(void)
{
	struct timespec ts;

	hl_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The one before it has taken our stacks with it: the next is sent whole. */
static void meet_collector(struct hl_thread *t)
{
	uint32_t epoch = atomic_load_explicit(&t->out.ring->epoch, memory_order_relaxed);

	if (t->out.epoch == epoch)
		return;
	t->out.epoch = epoch;
	t->synced_at = UINT64_MAX;
	hl_emit_forget_tags(t);
	t->resync = true;
}

/* Room, or a handler has written meanwhile: then the put starts over at another position. */
static bool may_go_on(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	meet_collector(t); /* it may come while we wait, and then only has room for us */
	return hl_producer_pos(&t->out) != pos || hl_producer_has_room(&t->out, pos, words);
}

static bool spin(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	for (int i = 0; i < SPINS; i++) {
		if (may_go_on(t, pos, words))
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

/* When a wait began, and when the collector was last heard. */
struct patience {
	uint64_t start, heard, beat;
};

static struct patience patience(void)
{
	uint64_t now = now_ns();

	return (struct patience){now, now, atomic_load(&hl_rec.region->heartbeat)};
}

static bool waited(struct hl_thread *t, const struct patience *p)
{
	t->wait_ns += now_ns() - p->start;
	return true;
}

/*
 * A heart may be silent because the machine has no time for it: hundreds of threads that all want
 * to run. The kernel says whether the collector would if it could.
 */
static bool wants_to_run(uint32_t pid)
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

static bool is_over(struct patience *p)
{
	uint64_t now = now_ns(), beat = atomic_load(&hl_rec.region->heartbeat);

	if (beat != p->beat) {
		p->beat = beat;
		p->heard = now;
	}
	if (now - p->heard > SILENCE_NS && wants_to_run(atomic_load(&hl_rec.region->collector_pid)))
		p->heard = now;
	return now - p->heard > SILENCE_NS ||
	       now - p->start > hl_rec.max_wait_ms * UINT64_C(1000000);
}

struct hl_thread *hl_wait_for_ring(struct hl_thread *t)
{
	struct timespec moment = {.tv_nsec = TURN_NS};
	struct patience p;

	if (!t || !t->shared || hl_rec.no_syscalls)
		return t;
	for (p = patience(); t && t->shared && !is_over(&p); t = hl_thread_claim()) {
		hl_sys2(SYS_nanosleep, &moment, NULL);
		/* Hundreds may wait at once: their looks would take the collector's CPU. */
		if (moment.tv_nsec < TURN_MAX_NS)
			moment.tv_nsec *= 2;
	}
	return t;
}

static void give_up(struct hl_thread *t, const struct patience *p)
{
	uint64_t waited = now_ns() - p->start;

	t->wait_ns += waited;
	t->silent_beat = p->beat;
	t->skip = now_ns() - p->heard > SILENCE_NS ? UNTIL_BEAT : SKIP_EVENTS;
	hl_log(HL_LEVEL_WARN, "events are dropped, the collector is silent; waited ns", waited);
}

static bool wait_long(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	struct patience p = patience();

	if (spin(t, pos, words))
		return waited(t, &p);
	/* Another thread may put us all behind a filter while we wait. */
	while (!hl_rec.no_syscalls) {
		nap(t);
		if (may_go_on(t, pos, words))
			return waited(t, &p);
		if (is_over(&p)) {
			give_up(t, &p);
			return false;
		}
	}
	return false;
}

/* How long a spin has lasted. */
struct turns {
	uint64_t from;
	uint32_t n;
};

static bool may_turn(struct turns *t)
{
	if (hl_rec.stamp_mode == HL_STAMP_NONE)
		return t->n++ < LONG_SPINS;
	if (!t->n++)
		t->from = hl_arch_stamp();
	return hl_arch_stamp() - t->from < LONG_TICKS;
}

/* Behind a filter we may neither sleep nor ask the time. Whoever does not come is waited for no
 * more until his heart beats. */
static bool spin_long(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	uint64_t beat = atomic_load(&hl_rec.region->heartbeat);

	for (struct turns n = {0}; may_turn(&n);)
		if (spin(t, pos, words))
			return true;
	t->silent_beat = beat;
	t->skip = UNTIL_BEAT;
	return false;
}

/* We have given up before: on a silent collector until its heart beats, on a slow one for a while.
 */
static bool still_silent(struct hl_thread *t)
{
	if (t->skip == UNTIL_BEAT && atomic_load(&hl_rec.region->heartbeat) != t->silent_beat)
		t->skip = 0;
	if (!t->skip)
		return false;
	if (t->skip != UNTIL_BEAT)
		t->skip--;
	return true;
}

bool hl_wait_for_room(struct hl_thread *t, uint64_t pos, uint32_t words)
{
	if (hl_rec.phase == HL_PHASE_EARLY || !hl_rec.region)
		return false; /* nobody drains the early buffer */
	if (still_silent(t))
		return false;
	return hl_rec.no_syscalls ? spin_long(t, pos, words) : wait_long(t, pos, words);
}

bool hl_wait_for(struct hl_thread *t, bool (*try)(struct hl_thread *t))
{
	struct timespec moment = {.tv_nsec = TURN_NS};
	struct patience p;

	if (hl_rec.no_syscalls || still_silent(t))
		return false;
	for (p = patience(); !hl_rec.no_syscalls && !is_over(&p);) {
		hl_sys2(SYS_nanosleep, &moment, NULL);
		if (try(t))
			return true;
		/* A thousand threads that all look often would leave no time for anyone. */
		if (moment.tv_nsec < TURN_MAX_NS)
			moment.tv_nsec *= 2;
	}
	give_up(t, &p);
	return false;
}

/* In another pid namespace it cannot be found, and is not waited for. */
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
		struct timespec limit = {.tv_nsec = (long)hl_min_u64(end - now, LOOK_NS)};

		seen = atomic_load(&ring->complete);
		if (seen == claim)
			return;
		hl_sys4(SYS_futex, &ring->complete, FUTEX_WAIT, seen, &limit);
	}
}
