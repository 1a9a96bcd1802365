/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - the ring and the private memory of a thread: how they are found, claimed and shared.
 *
 * Nothing is released here. When a thread ends, the kernel marks the robust mutex of its ring, and
 * the collector recycles the ring. The private memory stays with the slot for the next owner.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "record/arch/syscall.h"
#include "record/session/debug_log.h"
#include "record/session/recorder.h"
#include "record/emit/backpressure.h"
#include "record/emit/emit.h"
#include "record/session/lifecycle.h"
#include "record/session/modules.h"
#include "record/session/thread.h"
#include "record/tags/tags.h"
#include "record/emit/stamp.h"
#include "record/emit/sampling.h"

#define SCRATCH_BYTES (65536 * sizeof(uintptr_t))
#define STATE_BYTES   4096u

const _Atomic uint32_t hl_control_record_all;
struct hl_recorder hl_rec = {.control = &hl_control_record_all};
__attribute__((aligned(4096))) struct hl_fork_page_layout hl_fork_page;
__thread struct hl_tls hl_tls;

_Static_assert(sizeof(struct hl_thread) + HL_NAMED_TAGS * sizeof(void *) <= STATE_BYTES,
	"a thread's state is one page");

/* Before the region exists, events go here; the constructor copies them to a ring. */
static struct hl_ring early_ring;
static uint64_t early_data[HL_RING_BYTES / 8];
static struct hl_thread *early_thread;

/* Mapped before the program forbids itself to map memory: this many more threads can be
 * recorded. */
#define SPARES 16u
static _Atomic(struct hl_thread *) spares[SPARES];

/* Maps a thread's private memory: its state, then its unwinder. NULL if memory is short. */
static struct hl_thread *map_thread(size_t unwinder_bytes)
{
	char *memory = hl_arch_map(STATE_BYTES + unwinder_bytes);
	struct hl_thread *t = (struct hl_thread *)memory;

	if (!memory)
		return NULL;
	t->named_tags = (const struct hl_tag_node **)(t + 1);
	t->unwinder = hl_unwinder_init(memory + STATE_BYTES, unwinder_bytes);
	t->until_timed = 1;
	t->synced_at = UINT64_MAX;
	if (hl_rec.settings & HL_SET_FULL_UNWIND)
		t->scratch = hl_arch_map(SCRATCH_BYTES);
	return t;
}

/* Raises region->rings_used: the collector reads no ring beyond it. */
static void raise_rings_used(uint32_t n)
{
	uint32_t high = atomic_load(&hl_rec.region->rings_used);

	while (high < n && !atomic_compare_exchange_weak(&hl_rec.region->rings_used, &high, n))
		;
}

static bool take_ring(uint32_t i, uint32_t tid)
{
	struct hl_ring *ring = hl_region_ring(hl_rec.region, i);
	uint32_t is_free = HL_RING_FREE;
	int err;

	if (!atomic_compare_exchange_strong(&ring->state, &is_free, HL_RING_TAKING))
		return false;
	err = pthread_mutex_trylock(&ring->owner_mutex);
	if (err == EOWNERDEAD)
		err = pthread_mutex_consistent(&ring->owner_mutex);
	ring->serial = hl_rec.serial;
	ring->tid = tid;
	if (i >= atomic_load(&hl_rec.region->rings_used))
		raise_rings_used(i + 1);
	atomic_fetch_add(&ring->claim, 1);
	atomic_store_explicit(&ring->state, HL_RING_OWNED, memory_order_release);
	return true;
}

/* Behind a seccomp filter no memory can be mapped: only rings that have some, unless there are
 * spares. */
static bool has_memory(uint32_t ring)
{
	if (!hl_rec.no_syscalls || hl_rec.slots[ring])
		return true;
	for (uint32_t i = 0; i < SPARES; i++)
		if (atomic_load_explicit(&spares[i], memory_order_relaxed))
			return true;
	return false;
}

/* Claims a ring for this thread alone. HL_RING_COUNT if none is free. */
static uint32_t claim_ring(uint32_t tid)
{
	if (atomic_exchange(&hl_rec.one_thread, true))
		atomic_store(&hl_rec.many_threads, true); /* stamp.h: before anything is recorded */
	for (uint32_t i = 0; i < hl_rec.rings; i++) {
		struct hl_ring *ring = hl_region_ring(hl_rec.region, i);

		if (atomic_load_explicit(&ring->state, memory_order_relaxed) == HL_RING_FREE &&
			has_memory(i) && take_ring(i, tid))
			return i;
	}
	return HL_RING_COUNT;
}

static void attach_ring(struct hl_thread *t, uint32_t ring, uint32_t tid)
{
	hl_producer_attach(&t->out, hl_rec.region, ring);
	t->synced_at = UINT64_MAX;
	t->serial = hl_rec.serial;
	t->tid = tid;
	t->shared = false;
	t->skip_waits = 0;
	t->skip_control = 0;
	hl_emit_forget_sent(t);
}

/* More threads than rings. The thread has no unwinder: in a shared ring each stack is sent
 * whole. */
static struct hl_thread *init_shared(uint32_t tid)
{
	hl_tls.own = (struct hl_thread){
		.serial = hl_rec.serial, .tid = tid, .shared = true, .until_timed = 1};
	return &hl_tls.own;
}

/* libc knows the tid and stores it in every locked mutex; used if system calls are forbidden. */
static uint32_t own_tid(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	uint32_t tid;

	if (!hl_rec.no_syscalls)
		return (uint32_t)hl_sys0(SYS_gettid);
	pthread_mutex_trylock(&mutex);
	tid = (uint32_t)mutex.__data.__owner;
	pthread_mutex_unlock(&mutex);
	return tid;
}

static struct hl_thread *pop_spare(void)
{
	for (uint32_t i = 0; i < SPARES; i++) {
		struct hl_thread *t = atomic_exchange(&spares[i], NULL);

		if (t)
			return t;
	}
	return NULL;
}

void hl_thread_reserve(void)
{
	for (uint32_t i = 0; i < SPARES; i++)
		if (!atomic_load(&spares[i]))
			atomic_store(&spares[i], map_thread(HL_UNWINDER_BYTES));
}

hl_cold struct hl_thread *hl_thread_claim(void)
{
	uint32_t tid = own_tid(), i = claim_ring(tid);
	struct hl_thread *t;

	if (i == HL_RING_COUNT) {
		hl_debug_log(HL_LEVEL_WARN, "no ring is free, a shared one is used by thread", tid);
		return init_shared(tid);
	}
	t = hl_rec.slots[i];
	if (t)
		hl_unwinder_reset(t->unwinder);
	else if (hl_rec.no_syscalls)
		t = hl_rec.slots[i] = pop_spare();
	else
		t = hl_rec.slots[i] = map_thread(i ? HL_UNWINDER_BYTES : HL_UNWINDER_BYTES_BEST);
	if (!t) {
		struct hl_ring *ring = hl_region_ring(hl_rec.region, i);
		pthread_mutex_unlock(&ring->owner_mutex);
		atomic_store(&ring->state, HL_RING_FREE);
		return NULL;
	}
	attach_ring(t, i, tid);
	hl_debug_log(HL_LEVEL_DEBUG, "this thread takes ring", i);
	return t;
}

/*
 * A shared ring that this thread has locked itself. Either this is a handler that interrupted the
 * writing, or a handler abandoned the writing by siglongjmp. In the second case our frame is not
 * below the one that took the lock; the ring is free again, and the unfinished record is void.
 */
hl_cold static bool is_abandoned(struct hl_ring *ring, uintptr_t frame)
{
	if (frame < ring->lock_frame || hl_rec.no_syscalls || hl_arch_on_altstack())
		return false;
	__atomic_fetch_and(&ring->head, ~UINT64_C(1), __ATOMIC_RELAXED);
	return true;
}

/* `ours` counts the shared rings that this thread itself holds; a wait for those would
 * never end. */
struct shared_try {
	uintptr_t frame;
	uint32_t ours;
};

static bool take_shared(struct hl_thread *t, uint32_t i, struct shared_try *s)
{
	uint64_t me = (uint64_t)(t->serial + 1) << 32 | t->tid, holder = 0;
	struct hl_ring *ring = hl_region_ring(hl_rec.region, i);
	uint64_t now = atomic_load_explicit(&ring->lock, memory_order_relaxed);

	if (now && now != me)
		return false; /* without a write, which would take the cache line from the holder */
	if (!atomic_compare_exchange_strong(&ring->lock, &holder, me) &&
		!(holder == me && is_abandoned(ring, s->frame))) {
		s->ours += holder == me;
		return false;
	}
	ring->lock_frame = s->frame;
	hl_producer_attach(&t->out, hl_rec.region, i);
	return true;
}

/* Takes any shared ring that no other thread holds. */
static bool try_shared(struct hl_thread *t, struct shared_try *s)
{
	s->ours = 0;
	for (uint32_t k = 0; k < HL_SHARED_RINGS; k++) {
		uint32_t i = HL_RING_COUNT - 1 - (t->tid + k) % HL_SHARED_RINGS;

		if (take_shared(t, i, s))
			return true;
	}
	return false;
}

static bool retry_shared(struct hl_thread *t)
{
	struct shared_try s = {.frame = t->put_frame};

	return try_shared(t, &s);
}

bool hl_thread_lock_shared(struct hl_thread *t)
{
	struct shared_try s = {.frame = (uintptr_t)__builtin_frame_address(0)};

	atomic_store_explicit(&hl_rec.region->shared_used, 1, memory_order_relaxed);
	for (int i = 0; i < 100; i++) {
		if (try_shared(t, &s))
			return true;
		hl_arch_pause();
	}
	/* t is a temporary of the caller: no other code reads put_frame yet. */
	t->put_frame = s.frame;
	return s.ours < HL_SHARED_RINGS && hl_wait_for(t, retry_shared);
}

void hl_thread_unlock_shared(struct hl_thread *t)
{
	struct hl_ring *ring = t->out.ring;

	t->out.ring = NULL;
	atomic_store(&ring->lock, 0);
}

/* For the only thread that runs before our constructor. */
static struct hl_thread *enter_early(void)
{
	if (early_thread)
		return NULL;
	if (hl_unwind_init(hl_modules_on_found) < 0)
		return NULL;
	hl_rec.depth_inner = 896;
	hl_rec.depth_outer = 128;
	early_thread = map_thread(HL_UNWINDER_BYTES_BEST);
	if (!early_thread)
		return NULL;
	early_thread->out.ring = &early_ring;
	early_thread->out.data = early_data;
	early_thread->out.mask = sizeof(early_data) - 1;
	hl_tls.thread = early_thread;
	return early_thread;
}

/* Copies the events from before the constructor to the first ring, record by record and unchanged.
 * The thread keeps its memo. */
struct hl_thread *hl_thread_adopt_early(void)
{
	uint64_t n = early_ring.head / 8, pos;
	struct hl_thread *t = early_thread;
	uint32_t tid = own_tid(), i;
	const struct hl_tag_node *sent_tag;
	uint64_t synced_at;

	if (!t)
		return hl_tls.thread = hl_thread_claim();
	i = claim_ring(tid);
	if (i == HL_RING_COUNT)
		return NULL;
	synced_at = t->synced_at;
	sent_tag = t->sent_tag;
	hl_rec.slots[i] = t;
	attach_ring(t, i, tid);
	pos = hl_producer_pos(&t->out);
	hl_producer_begin(&t->out, pos);
	for (uint32_t w = 0; w < n; w++)
		hl_producer_word(&t->out, pos, w, early_data[w]);
	hl_producer_commit(&t->out, pos, (uint32_t)n);
	atomic_fetch_add(&t->out.ring->dropped, early_ring.dropped);
	t->synced_at = synced_at == UINT64_MAX ? synced_at : synced_at + pos;
	t->sent_tag = sent_tag;
	if ((hl_rec.settings & HL_SET_FULL_UNWIND) && !t->scratch)
		t->scratch = hl_arch_map(SCRATCH_BYTES);
	hl_tls.thread = t;
	return t;
}

/* The stamp of the first early event, or the current one. */
uint64_t hl_thread_first_stamp(void)
{
	return early_ring.head ? early_data[0] >> HL_STAMP_SHIFT : hl_arch_stamp() & HL_STAMP_MASK;
}

/* The first event of a thread. Signals are blocked meanwhile: a handler would find no ring and
 * could not claim one. If system calls are forbidden, events of such a handler are dropped. */
static struct hl_thread *enter_new_thread(void)
{
	const uint64_t all = UINT64_MAX;
	bool can_block = !hl_rec.no_syscalls;
	struct hl_thread *t;
	uint64_t before;

	if (can_block)
		hl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	t = hl_tls.thread; /* a handler may have done it before */
	if (!t) {
		hl_tls.busy = hl_tls.claiming = true;
		t = hl_tls.thread = hl_thread_claim();
		hl_tls.busy = hl_tls.claiming = false;
	}
	if (can_block)
		hl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	if (!t)
		atomic_fetch_add(&hl_rec.region->no_ring_drops, 1);
	return t;
}

hl_cold struct hl_thread *hl_thread_enter_slow(void)
{
	struct hl_thread *t;
	uint32_t phase = atomic_load(&hl_rec.phase);

	if (hl_unlikely(phase == HL_PHASE_STOPPED && (hl_control() & HL_CONTROL_START))) {
		hl_sampling_apply_request();
		phase = atomic_load(&hl_rec.phase);
	}
	if (hl_tls.claiming)
		atomic_fetch_add(&hl_rec.region->no_ring_drops, 1);
	if (phase == HL_PHASE_OFF || phase == HL_PHASE_STOPPED || hl_tls.busy)
		return NULL;
	if (phase == HL_PHASE_EARLY) {
		if (hl_tls.thread)
			return hl_tls.thread;
		hl_tls.busy = true;
		t = enter_early();
		hl_tls.busy = false;
		return t;
	}
	if (!atomic_load(&hl_fork_page.ours)) {
		hl_tls.busy = true;
		hl_lifecycle_fork_child();
		hl_tls.busy = false;
	}
	if (!atomic_load(&hl_fork_page.on))
		return NULL;
	return hl_tls.thread ? hl_tls.thread : enter_new_thread();
}

hl_cold uint64_t hl_stamp_slow(struct hl_thread *t)
{
	uint64_t s;

	if (hl_rec.stamp_mode == HL_STAMP_COUNTER)
		return atomic_fetch_add(&hl_rec.region->stamp_counter, 1);
	s = hl_max_u64(t->last_stamp + 1, atomic_load(&hl_rec.region->now));
	t->last_stamp = s;
	return s;
}
