/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - copies committed records out of the rings, and frees rings whose threads have ended.
 *
 * A scan takes a stamp T, makes earlier stores of all CPUs visible, then reads the position of each
 * ring and copies the committed records out. A ring that was not busy then cannot commit a stamp
 * below T any more. A busy one can, so its bound stays where it was until its position changes.
 * Below the smallest bound (the watermark) the order is final: those records are merged (merge.c).
 */
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "collect/match/match.h"
#include "collect/match/rotate.h"
#include "collect/match/thread_names.h"
#include "collect/drain/record_length.h"
#include "collect/drain/region_internal.h"
#include "collect/control/steering.h"
#include "collect/output/write_queue.h"
#include "ring/ring_clock.h"
#include "ring/ring_record.h"
#include "util/cacheline.h"

#define STAGED_WORDS_MAX (512u * 1024)        /* maximum per ring that waits to be merged */
#define IDLE_BUSY_NS     UINT64_C(1000000000) /* busy this long without a change: its thread sleeps */
#define ADJUST_NS        UINT64_C(100000000)
#define UNREGISTERED_NS  1000000 /* without membarrier: T is moved back by this much */

/* Flushes [from, to) of the ring from the CPU's caches after the copy: the program will write there
 * next. */
static void flush_copied(const uint64_t *data, uint64_t size, uint64_t from, uint64_t to)
{
	const char *bytes = (const char *)data;
	uint64_t first = from & ~UINT64_C(63); /* the line that was not full the last time */
	uint64_t at = first % size, head = hl_min_u64(to - first, size - at);

	hl_cacheline_flush(bytes + at, head);
	hl_cacheline_flush(bytes, to - first - head);
}

/* Copies [tail, pos) of the ring to the view and checks every record: from here on lengths can be
 * trusted. */
static void copy_records(struct hl_region_reader *r, struct hl_ring_view *v, uint32_t index,
	uint64_t tail, uint64_t pos)
{
	const uint64_t *data = hl_region_data(r->region, index);
	uint64_t size = hl_ring_bytes(index) / 8;
	uint64_t n = (pos - tail) / 8, first = (tail / 8) % size,
		 head = hl_min_u64(n, size - first);
	uint64_t *to, n_whole, events = 0;

	if (v->at == v->words.len)
		v->at = v->words.len = 0;
	if (hl_vec_reserve(&v->words, v->words.len + n))
		return;
	to = v->words.data + v->words.len;
	memcpy(to, data + first, head * 8);
	memcpy(to + head, data, (n - head) * 8);
	flush_copied(data, size * 8, tail, pos);
	n_whole = hl_records_count_whole(to, n, &events);
	if (n_whole < n && !v->corrupt)
		hl_log_file_write(&r->log, HL_LEVEL_ERROR,
			"ring %u contains an invalid record: the rest of it is lost", index);
	v->corrupt |= n_whole < n; /* no record after that can be located */
	v->words.len += n_whole;
	atomic_fetch_add_explicit(&r->region->drained_events, events, memory_order_relaxed);
}

static bool owner_died(struct hl_ring *ring)
{
	return __atomic_load_n(&ring->owner_mutex.__data.__lock, __ATOMIC_ACQUIRE) &
	       FUTEX_OWNER_DIED;
}

static void wake_writer(struct hl_ring *ring)
{
	if (atomic_exchange(&ring->waiting, 0))
		syscall(SYS_futex, &ring->waiting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Sets the bound below which no stamp can be committed in this ring: T, or the old bound while it
 * is busy. */
static void advance_bound(
	struct hl_ring_view *v, uint64_t w, uint64_t t, uint64_t last_scan_stamp, uint64_t now_ns)
{
	if (!(w & 1))
		v->bound = t;
	else if (!v->busy || w != v->last_w) {
		v->bound = hl_max_u64(v->bound, last_scan_stamp);
		v->busy_since_ns = now_ns;
	} else if (now_ns - v->busy_since_ns > IDLE_BUSY_NS)
		v->bound = t;
	v->busy = w & 1;
	v->last_w = w;
}

static void reset_view(
	struct hl_region_reader *r, struct hl_ring_view *v, struct hl_ring *ring, uint32_t claim)
{
	hl_log_file_write(&r->log, HL_LEVEL_DEBUG,
		"ring %u has a new owner, thread %u of serial %u", (uint32_t)(v - r->views),
		ring->tid, ring->serial);
	v->claim = claim;
	v->target = NULL;
	v->stream = NULL;
	v->dead = v->corrupt = v->corrupt_counted = v->busy = v->ignored = false;
	v->bound = 0;
	v->stamp = 0;
	v->last_w = UINT64_MAX;
}

/* True if the target exists or the ring is that of its first thread. Another thread of a fork child
 * may be read in an earlier scan than the first one, whose tid is the child's pid. Its records are
 * processed after those of the first. */
static bool is_target_known(struct hl_region_reader *r, const struct hl_ring_view *v)
{
	uint32_t serial = hl_region_ring(r->region, (uint32_t)(v - r->views))->serial;

	return serial == 0 || (v->words.data[v->at] & 31) == HL_REC_PROCESS ||
	       hl_region_find_target(r, serial) != NULL;
}

/* True if serial 0, the program itself, is still to be added in the merge. It may have ended
 * already. A live child is then added after it: traces get their names in the order in which
 * targets are added. */
static bool is_program_pending(struct hl_region_reader *r, const struct hl_ring_view *except)
{
	for (uint32_t i = 0; i < HL_OWN_RINGS && !r->made_trace; i++) {
		const struct hl_ring_view *v = &r->views[i];

		if (v != except && v->at < v->words.len && !v->stream &&
			hl_region_ring(r->region, i)->serial == 0)
			return true;
	}
	return false;
}

/* Returns how full the ring was, in 1/HL_FILL_ALL; 0: empty. */
static uint32_t scan_ring(struct hl_region_reader *r, uint32_t i, uint64_t t, uint64_t now_ns)
{
	struct hl_ring *ring = hl_region_ring(r->region, i);
	struct hl_ring_view *v = &r->views[i];
	bool shared = i >= HL_RING_COUNT - HL_SHARED_RINGS;
	uint64_t w, pos, tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t fill = 0;

	if (!shared && atomic_load_explicit(&ring->state, memory_order_acquire) != HL_RING_OWNED)
		return 0;
	if (!shared && v->claim != atomic_load(&ring->claim))
		reset_view(r, v, ring, atomic_load(&ring->claim));
	if (v->words.len - v->at > STAGED_WORDS_MAX)
		return 0; /* the matcher is behind: let the program wait */
	if (!shared && !v->dead)
		v->dead = owner_died(ring); /* before the position is read, which is then final */
	w = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	pos = w & ~UINT64_C(1);
	if (pos - tail > hl_ring_bytes(i) || (pos | tail) % 8)
		v->corrupt = true;
	if (!v->corrupt && pos != tail)
		copy_records(r, v, i, tail, pos);
	if (pos != tail) {
		fill = 1 + (uint32_t)(hl_min_u64(pos - tail, hl_ring_bytes(i)) * HL_FILL_ALL /
				      hl_ring_bytes(i));
		atomic_store_explicit(&ring->tail, pos, memory_order_release);
		wake_writer(ring);
	}
	advance_bound(v, v->dead ? pos : w, t, r->last_scan_stamp, now_ns);
	if (v->at < v->words.len) {
		hl_region_load_stamp(r, v);
		/* A live process is added at once: it may be about to end. */
		if (!shared && !v->stream && !v->dead && is_target_known(r, v) &&
			!is_program_pending(r, v))
			hl_region_attach_owner(r, v);
	}
	return fill;
}

/* Ends the streams of an ended thread in shared rings, unless some of their records are still to be
 * merged. */
static void end_shared_streams(struct hl_region_reader *r, const struct hl_thread_stream *owner)
{
	const uint32_t first = HL_RING_COUNT - HL_SHARED_RINGS;

	for (uint32_t i = first; i < HL_RING_COUNT; i++)
		if (r->views[i].at < r->views[i].words.len)
			return;
	for (uint32_t i = first; i < HL_RING_COUNT; i++) {
		const struct hl_thread_stream *f = r->views[i].stream;

		if (f && f->target == owner->target && f->tid == owner->tid)
			r->views[i].stream = NULL;
	}
	hl_thread_stream_end_shared(owner);
}

void hl_region_recycle_ring(struct hl_region_reader *r, uint32_t i)
{
	struct hl_ring *ring = hl_region_ring(r->region, i);
	struct hl_ring_view *v = &r->views[i];

	if (v->stream) {
		end_shared_streams(r, v->stream);
		hl_thread_stream_end(v->stream);
	}
	v->stream = NULL;
	v->target = NULL;
	hl_region_init_owner_mutex(ring);
	__atomic_fetch_and(&ring->head, ~UINT64_C(1), __ATOMIC_RELAXED);
	atomic_store_explicit(&ring->state, HL_RING_FREE, memory_order_release);
}

void hl_region_count_drops(struct hl_region_reader *r, struct hl_ring_view *v, struct hl_ring *ring)
{
	uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	uint64_t n = dropped - v->dropped + (v->corrupt && !v->corrupt_counted);
	struct hl_extra extra = {.kind = HL_EXTRA_DROPPED, .value = n, .node = HL_NODE_NONE};

	if (!n || !v->target || !v->stream)
		return;
	v->dropped = dropped;
	v->corrupt_counted = v->corrupt;
	v->target->drain.dropped_events += n;
	hl_target_flush(v->target);
	hl_match_extra(v->target, v->stream, &extra, NULL, 0, r->last_scan_stamp);
}

void hl_region_count_unclaimed(struct hl_region_reader *r)
{
	uint64_t n = atomic_load_explicit(&r->region->no_ring_drops, memory_order_relaxed);

	if (n == r->unclaimed || !r->targets.len)
		return;
	r->targets.data[0]->drain.dropped_events += n - r->unclaimed;
	r->unclaimed = n;
}

static uint32_t scan_rings(
	struct hl_region_reader *r, uint64_t t, uint64_t now_ns, uint32_t *fullest)
{
	uint32_t high = atomic_load(&r->region->rings_used);
	uint32_t own = HL_RING_COUNT - HL_SHARED_RINGS;

	if (high > own)
		high = own;
	for (uint32_t i = 0; i < high; i++)
		*fullest = hl_max_u32(*fullest, scan_ring(r, i, t, now_ns));
	for (uint32_t i = own; atomic_load(&r->region->shared_used) && i < HL_RING_COUNT; i++)
		*fullest = hl_max_u32(*fullest, scan_ring(r, i, t, now_ns));
	return high;
}

static uint64_t lowest_bound(struct hl_region_reader *r, uint32_t high)
{
	uint64_t low = UINT64_MAX;

	for (uint32_t i = 0; i < HL_RING_COUNT; i++) {
		const struct hl_ring_view *v = &r->views[i];
		bool shared = i >= HL_RING_COUNT - HL_SHARED_RINGS;

		if (!shared && i >= high)
			continue;
		if (shared ? atomic_load(&r->region->shared_used) != 0
			   : atomic_load(&hl_region_ring(r->region, i)->state) == HL_RING_OWNED &&
					!v->dead)
			low = hl_min_u64(low, v->bound);
	}
	return low;
}

static void finish_scan(struct hl_region_reader *r, uint32_t high, uint64_t now_ns)
{
	r->copying = false;
	for (size_t i = 0; i < r->targets.len; i++) {
		hl_target_flush(r->targets.data[i]);
		hl_match_copy_base(r->targets.data[i], HL_BASE_STEP);
		r->copying |= r->targets.data[i]->match.base != NULL;
		if (r->targets.data[i]->exit.gone) /* /proc has no more data */
			continue;
		hl_thread_names_tick(r->targets.data[i], now_ns);
		hl_trace_output_tick(r->targets.data[i]->output, now_ns);
		if (now_ns > r->targets.data[i]->start_ns)
			hl_retain_tick(r->targets.data[i], now_ns - r->targets.data[i]->start_ns);
	}
	for (uint32_t i = 0; i < high; i++) {
		struct hl_ring_view *v = &r->views[i];
		struct hl_ring *ring = hl_region_ring(r->region, i);

		hl_region_count_drops(r, v, ring);
		if (v->dead && v->at == v->words.len &&
			atomic_load(&ring->state) == HL_RING_OWNED &&
			v->claim == atomic_load(&ring->claim))
			hl_region_recycle_ring(r, i);
	}
	for (uint32_t i = HL_RING_COUNT - HL_SHARED_RINGS; i < HL_RING_COUNT; i++)
		hl_region_count_drops(r, &r->views[i], hl_region_ring(r->region, i));
	hl_region_count_unclaimed(r);
}

/* True if only the first ring has ever had an owner. A thread claims its ring before it takes its
 * first stamp. So if this is true after the first ring was read, no record in it can have to wait
 * for another ring. */
static bool has_one_ring(struct hl_region_reader *r)
{
	return atomic_load(&r->region->rings_used) <= 1 && !atomic_load(&r->region->shared_used);
}

/* Makes the earlier stores of all CPUs visible. Returns how far T must be moved back if that is not
 * possible. */
static uint64_t sync_memory(struct hl_region_reader *r)
{
	if (atomic_load(&r->region->registered) &&
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0) == 0)
		return 0;
	return r->clock.counter ? 0 : (uint64_t)(UNREGISTERED_NS / r->clock.ns_per_tick);
}

uint32_t hl_region_scan(struct hl_region_reader *r, uint64_t now_ns)
{
	uint64_t t = hl_ring_now(r->region), limit;
	uint32_t fullest = 0;
	/* No order to find: the program need not be interrupted by a barrier. */
	bool alone = has_one_ring(r);
	uint32_t high;

	if (!alone)
		t -= sync_memory(r);
	if (now_ns - r->last_adjust_ns > ADJUST_NS) {
		hl_tsc_clock_adjust(&r->clock);
		r->last_adjust_ns = now_ns;
	}
	for (size_t i = 0; i < r->targets.len; i++)
		r->targets.data[i]->drain.scan_ns = now_ns;
	high = scan_rings(r, t, now_ns, &fullest);
	limit = alone && has_one_ring(r) ? UINT64_MAX : lowest_bound(r, high);
	hl_region_merge(r, limit);
	finish_scan(r, high, now_ns);
	r->last_scan_stamp = t;
	hl_steering_after_scan(r, limit >= t && !hl_write_queue_full(r->queue) && !r->crowded);
	atomic_store_explicit(&r->region->now, t & HL_STAMP_MASK, memory_order_relaxed);
	hl_region_bump_heartbeat(r);
	return fullest;
}
