/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.c - puts events into the ring. Nearly all allocations and frees begin in emit_fast.c; this
 * is the slow path.
 *
 * Everything slow (unwinding, waiting for room) happens before the stamp. A signal handler of the
 * same thread may emit whole events at any point in here. It writes to the same ring, and the
 * interrupted put sees that the ring's position changed and starts over; or, if it interrupted a
 * put between busy bit and commit, it writes to a shared ring.
 */
#include <string.h>

#include "base/bits.h"
#include "record/emit/emit_internal.h"
#include "record/session/recorder.h"
#include "record/emit/backpressure.h"
#include "record/emit/emit.h"
#include "record/session/thread.h"
#include "record/emit/hook_timer.h"
#include "record/emit/stack_record_internal.h"
#include "record/emit/stamp.h"
#include "record/emit/sampling.h"
#include "record/emit/tag_record_internal.h"

hl_cold void hl_emit_drop(struct hl_thread *t)
{
	t->synced_at = UINT64_MAX;
	if (t->out.ring)
		atomic_fetch_add_explicit(&t->out.ring->dropped, 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&hl_rec.region->no_ring_drops, 1, memory_order_relaxed);
}

/*
 * The busy bit is set. Either this is a handler inside a put of its own thread, or a handler
 * abandoned such a put by siglongjmp. In the second case our frame is not below that of the put,
 * and the ring is free again.
 */
hl_cold static bool interrupts_put(struct hl_thread *t, uintptr_t frame)
{
	if (frame < t->put_frame || hl_rec.no_syscalls || hl_arch_on_altstack())
		return true;
	hl_producer_cancel(&t->out, hl_producer_pos(&t->out));
	return false;
}

/*
 * True if this event must go to a shared ring. `frame` is the frame of the hook or of the function
 * that it called. The frame of a function called from here would be below that of an abandoned put.
 */
hl_inline bool needs_shared_ring(struct hl_thread *t, uintptr_t frame)
{
	if (hl_likely(!t->shared && !(__atomic_load_n(&t->out.ring->head, __ATOMIC_RELAXED) & 1)))
		return false;
	return t->shared || interrupts_put(t, frame);
}

void hl_emit_forget_sent(struct hl_thread *t)
{
	t->sent_tag = NULL;
	t->sent_pool = 0;
	if (t->unwinder)
		hl_unwind_forget_ids(t->unwinder);
	if (t->named_tags)
		memset(t->named_tags, 0, HL_NAMED_TAGS * sizeof(*t->named_tags));
}

/* Puts the event with the stack that was just unwound. */
hl_inline bool put_unwound(struct hl_thread *t, struct hl_draft *d, const struct hl_stack *stack,
	uint64_t size, bool *retry)
{
	struct hl_sent_frames f = hl_sent_frames_of(stack);

	if (hl_unlikely(!hl_emit_put_event(t, d, &f, size, stack->shared, retry)))
		return false;
	if (hl_unlikely(stack->id_plus_1 && !stack->id_sent))
		hl_emit_send_stack_id(t, stack);
	return true;
}

hl_inline void emit_with_stack(
	struct hl_thread *t, struct hl_draft *d, const struct hl_regs *regs, uint64_t size)
{
	bool retry = true;

	if (hl_unlikely(hl_rec.settings & HL_SET_FULL_UNWIND)) {
		hl_emit_put_event_full(t, d, regs, size);
		return;
	}
	while (retry) {
		struct hl_stack stack;

		if (hl_unlikely(!hl_emit_is_tag_sent(t)) && !hl_emit_send_tag(t))
			break;
		if (hl_unlikely(hl_unwind(t->unwinder, regs, &stack) < 0)) {
			hl_emit_put_event_streamed(t, d, regs, size);
			return;
		}
		if (hl_likely(put_unwound(t, d, &stack, size, &retry)))
			return;
	}
	hl_emit_drop(t);
}

bool hl_emit_put_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len)
{
	uint32_t tail = (uint32_t)(len + 7) / 8, total = 1 + n + tail;

	for (;;) {
		uint64_t pos = hl_producer_pos(&t->out);

		if (!hl_producer_has_room(&t->out, pos, total) && !hl_wait_for_room(t, pos, total))
			return false;
		if (!hl_emit_begin(t, &t->out, pos))
			continue;
		hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), type, 0));
		for (uint32_t i = 0; i < n; i++)
			hl_producer_word(&t->out, pos, 1 + i, words[i]);
		for (uint32_t i = 0; i < tail; i++) {
			uint64_t word = 0;
			memcpy(&word, (const char *)bytes + i * 8, hl_min_u64(8, len - i * 8));
			hl_producer_word(&t->out, pos, 1 + n + i, word);
		}
		if (!hl_producer_commit(&t->out, pos, total))
			continue;
		hl_emit_advance_sync(t, pos, pos + (uint64_t)total * 8);
		return true;
	}
}

/*
 * Locks a shared ring for one event and announces the thread in it. For a thread without a ring of
 * its own, or a handler inside a put of its thread. `shared` is on the caller's stack: a handler
 * inside this call has its own.
 */
static bool lock_shared_ring(const struct hl_thread *t, struct hl_thread *shared)
{
	uint64_t owner = (uint64_t)t->serial << 32 | t->tid;

	*shared = (struct hl_thread){.serial = t->serial,
		.tid = t->tid,
		.shared = true,
		.synced_at = UINT64_MAX,
		.skip_waits = t->skip_waits,
		.silent_beat = t->silent_beat};
	if (!hl_rec.region || !hl_thread_lock_shared(shared))
		return false;
	if (hl_emit_put_state(shared, HL_REC_SWITCH, &owner, 1, NULL, 0))
		return true;
	hl_thread_unlock_shared(shared);
	return false;
}

hl_cold static void emit_to_shared_ring(
	struct hl_thread *t, struct hl_draft *d, const struct hl_regs *regs, uint64_t size)
{
	struct hl_thread shared;

	if (!lock_shared_ring(t, &shared)) {
		if (hl_rec.region)
			atomic_fetch_add_explicit(
				&hl_rec.region->no_ring_drops, 1, memory_order_relaxed);
	} else {
		if (regs)
			hl_emit_put_event_streamed(&shared, d, regs, size);
		else if ((d->type == HL_REC_FREE && !hl_emit_is_tag_sent(&shared) &&
				 !hl_emit_send_tag(&shared)) ||
			 !hl_emit_put_state(
				 &shared, d->type | d->func << 5, d->words, d->n_words, NULL, 0))
			hl_emit_drop(&shared);
		hl_thread_unlock_shared(&shared);
	}
	/* A thread that has given up a wait does not wait again at once. */
	t->skip_waits = shared.skip_waits;
	t->silent_beat = shared.silent_beat;
}

hl_inline void emit_stack_event(struct hl_thread *t, struct hl_draft *d, const struct hl_regs *regs,
	uint64_t size, uintptr_t frame)
{
	if (hl_likely(!needs_shared_ring(t, frame)))
		emit_with_stack(t, d, regs, size);
	else
		emit_to_shared_ring(t, d, regs, size);
}

/* A size that does not fit into the stack word is stored in an additional word, before the pcs. */
hl_inline uint64_t size_field(struct hl_draft *d, uint64_t size)
{
	if (hl_likely(size < HL_SIZE_BIG))
		return size;
	d->words[d->n_words++] = size;
	return HL_SIZE_BIG;
}

static hl_noinline void emit_any_size(struct hl_thread *t, struct hl_draft d,
	const struct hl_regs *regs, size_t size, uintptr_t frame)
{
	emit_stack_event(t, &d, regs, size_field(&d, size), frame);
}

/* For an allocation that needs a decision: samples are taken, or recording is paused or stopped. */
static hl_noinline void emit_alloc_if_chosen(
	struct hl_thread *t, const struct hl_regs *regs, struct hl_draft d, size_t size)
{
	enum hl_decision decision =
		hl_sampling_decide_alloc(t, (const void *)d.words[0], size, &d.words[d.n_words]);
	struct hl_hook_timer w;

	if (hl_likely(decision == HL_SKIP))
		return;
	if (decision == HL_RECORD_SAMPLE) {
		d.type = HL_REC_SAMPLE;
		d.n_words++;
	}
	w = hl_hook_timer_begin(t);
	emit_any_size(t, d, regs, size, HL_THIS_FRAME);
	hl_hook_timer_end(t, w);
	if (decision == HL_RECORD)
		hl_sampling_after_alloc((const void *)d.words[0]);
}

static struct hl_draft alloc_draft(uint32_t func, const void *addr)
{
	return (struct hl_draft){
		.type = HL_REC_ALLOC, .func = func, .n_words = 2, .words = {(uintptr_t)addr}};
}

void hl_emit_alloc_slow(struct hl_thread *t, const struct hl_regs *regs, uint32_t func,
	const void *addr, size_t size, uintptr_t frame)
{
	emit_any_size(t, alloc_draft(func, addr), regs, size, frame);
}

void hl_emit_alloc_unwound(const struct hl_unwound *e, const struct hl_stack *stack)
{
	struct hl_draft d = alloc_draft(e->func, e->addr);
	struct hl_sent_frames f = hl_sent_frames_of(stack);
	bool retry = true;

	if (stack->id_plus_1 && !stack->id_sent) {
		d.type = HL_REC_ALLOC_STACK_ID;
		d.words[d.n_words++] = stack->id_plus_1 - 1;
	}
	if (hl_likely(!needs_shared_ring(e->t, e->frame)) &&
		hl_likely(hl_emit_put_event(e->t, &d, &f, e->size, stack->shared, &retry))) {
		if (d.type == HL_REC_ALLOC_STACK_ID)
			hl_unwind_mark_sent(e->t->unwinder, stack);
		return;
	}
	d = alloc_draft(e->func, e->addr);
	if (retry)
		emit_any_size(e->t, d, e->regs, e->size, e->frame);
	else
		hl_emit_drop(e->t);
}

void *hl_emit_alloc(const struct hl_regs *regs, uint32_t func, void *addr, size_t size)
{
	struct hl_thread *t = hl_thread_enter();
	struct hl_hook_timer w;

	hl_emit_zero(func, addr, size);
	if (hl_unlikely(!t))
		return addr;
	if (hl_sampling_must_decide_alloc()) {
		emit_alloc_if_chosen(t, regs, alloc_draft(func, addr), size);
		return addr;
	}
	w = hl_hook_timer_begin(t);
	hl_emit_alloc_slow(t, regs, func, addr, size, HL_THIS_FRAME);
	hl_hook_timer_end(t, w);
	hl_sampling_after_alloc(addr);
	return addr;
}

/* Puts a record that consists of words alone. Part of the hot path of a free. */
hl_inline bool emit_words(
	struct hl_thread *t, uint32_t type, uint32_t func, const uint64_t *words, uint32_t n)
{
	for (;;) {
		uint64_t pos = hl_producer_pos(&t->out);

		if (type == HL_REC_FREE && hl_unlikely(!hl_emit_is_tag_sent(t))) {
			if (!hl_emit_send_tag(t))
				return false;
			continue;
		}
		if (hl_unlikely(!hl_producer_has_room(&t->out, pos, n + 1)) &&
			!hl_wait_for_room(t, pos, n + 1))
			return false;
		if (hl_unlikely(!hl_emit_begin(t, &t->out, pos)))
			continue;
		hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), type, func));
		for (uint32_t i = 0; i < n; i++)
			hl_producer_word(&t->out, pos, i + 1, words[i]);
		if (!hl_producer_commit(&t->out, pos, n + 1))
			continue;
		hl_emit_advance_sync(t, pos, pos + (n + 1) * 8);
		return true;
	}
}

/* A separate function: the draft would take stack space in each caller. */
hl_cold static void emit_plain_to_shared_ring(
	struct hl_thread *t, uint32_t type, uint32_t func, uint64_t word)
{
	struct hl_draft d = {.type = type, .func = func, .n_words = 1, .words = {word}};

	emit_to_shared_ring(t, &d, NULL, 0);
}

hl_inline void put_or_drop(
	struct hl_thread *t, uint32_t type, uint32_t func, uint64_t word, uintptr_t frame)
{
	if (hl_unlikely(needs_shared_ring(t, frame)))
		emit_plain_to_shared_ring(t, type, func, word);
	else if (hl_unlikely(!emit_words(t, type, func, &word, 1)))
		hl_emit_drop(t);
}

hl_inline void emit_plain(uint32_t type, uint32_t func, uint64_t word)
{
	struct hl_thread *t = hl_thread_enter();
	struct hl_hook_timer w;

	if (hl_unlikely(!t))
		return;
	w = hl_hook_timer_begin(t);
	put_or_drop(t, type, func, word, HL_THIS_FRAME);
	hl_hook_timer_end(t, w);
}

void hl_emit_free_slow(struct hl_thread *t, uint32_t func, const void *addr, uintptr_t frame)
{
	put_or_drop(t, HL_REC_FREE, func, (uintptr_t)addr, frame);
}

static hl_noinline void emit_free_stack(const struct hl_regs *regs, uint32_t func, const void *addr)
{
	struct hl_thread *t = hl_thread_enter();
	struct hl_draft d = {
		.type = HL_REC_FREE_STACK, .func = func, .n_words = 2, .words = {(uintptr_t)addr}};

	if (t)
		emit_stack_event(t, &d, regs, 0, HL_THIS_FRAME);
}

void hl_emit_free(const struct hl_regs *regs, uint32_t func, const void *addr)
{
	uint32_t control = hl_control();

	if (hl_unlikely(control & HL_CONTROL_DECIDE_FREE) && !hl_sampling_decide_free(addr))
		return;
	if (hl_likely(!(hl_rec.settings & HL_SET_FREE_STACKS)))
		emit_plain(HL_REC_FREE, func, (uintptr_t)addr);
	else
		emit_free_stack(regs, func, addr);
	hl_sampling_mark_free_sent(control, (uintptr_t)addr);
}

bool hl_emit_move_begin(const void *old)
{
	if (hl_unlikely(hl_control() & HL_CONTROL_DECIDE_FREE) && !hl_sampling_decide_free(old))
		return false;
	emit_plain(HL_REC_MOVE_BEGIN, HL_FUNC_REALLOC, (uintptr_t)old);
	return true;
}

void hl_emit_move_failed(const void *old)
{
	emit_plain(HL_REC_MOVE_FAILED, HL_FUNC_REALLOC, (uintptr_t)old);
}

/* For a realloc that needs a decision. If `begun`, the record ends the move, and the new block is
 * in it if it is chosen. If not, the collector does not know the old block, and only an allocation
 * is recorded, if it is chosen. */
static hl_noinline void emit_move_if_chosen(struct hl_thread *t, const struct hl_regs *regs,
	uint32_t func, const void *old, const void *addr, size_t size, bool begun)
{
	struct hl_draft d = {.type = HL_REC_MOVE_END,
		.func = func,
		.n_words = 3,
		.words = {(uintptr_t)addr, 0, (uintptr_t)old}};
	enum hl_decision decision = HL_SKIP;

	if (!begun) {
		d.type = HL_REC_ALLOC; /* the old block is not known to the collector */
		d.n_words = 2;
		if (addr)
			emit_alloc_if_chosen(t, regs, d, size);
		return;
	}
	if (addr)
		decision = hl_sampling_decide_alloc(t, addr, size, &d.words[3]);
	if (decision == HL_RECORD_SAMPLE) {
		d.type = HL_REC_SAMPLE_MOVE;
		d.n_words++;
	} else if (decision == HL_SKIP) {
		d.words[0] = 0; /* the collector sees a free */
		size = 0;
	}
	emit_any_size(t, d, regs, size, HL_THIS_FRAME);
	if (decision == HL_RECORD)
		hl_sampling_after_alloc(addr);
}

void hl_emit_move_end(const struct hl_regs *regs, uint32_t func, const void *old, const void *addr,
	size_t size, bool begun)
{
	struct hl_thread *t = hl_thread_enter();
	struct hl_draft d = {.type = HL_REC_MOVE_END,
		.func = func,
		.n_words = 3,
		.words = {(uintptr_t)addr, 0, (uintptr_t)old}};
	struct hl_hook_timer w;

	if (hl_unlikely(!t))
		return;
	if (hl_sampling_must_decide_alloc() || hl_unlikely(!begun)) {
		emit_move_if_chosen(t, regs, func, old, addr, size, begun);
		return;
	}
	w = hl_hook_timer_begin(t);
	emit_stack_event(t, &d, regs, size_field(&d, size), HL_THIS_FRAME);
	hl_hook_timer_end(t, w);
	hl_sampling_after_alloc(addr);
}

void hl_emit_map(const struct hl_regs *regs, uint32_t type, uint64_t start, uint64_t size,
	uint64_t a, uint64_t b)
{
	struct hl_thread *t = hl_thread_enter();
	struct hl_draft d = {
		.type = type, .func = HL_FUNC_MMAP, .n_words = 5, .words = {start, 0, size, a, b}};

	if (t)
		emit_stack_event(t, &d, regs, 0, HL_THIS_FRAME);
}

bool hl_emit_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len)
{
	struct hl_thread shared;
	bool done;

	if (hl_likely(!needs_shared_ring(t, HL_THIS_FRAME)))
		return hl_emit_put_state(t, type, words, n, bytes, len);
	if (!lock_shared_ring(t, &shared))
		return false;
	done = hl_emit_put_state(&shared, type, words, n, bytes, len);
	hl_thread_unlock_shared(&shared);
	return done;
}

void hl_emit_mark(uint32_t kind, const char *text)
{
	struct hl_thread *t = hl_thread_enter();
	size_t len = text ? strnlen(text, 1023) : 0;
	uint64_t word = kind | (uint64_t)len << 8;

	if (t)
		hl_emit_state(t, HL_REC_MARK, &word, 1, text, len);
}

void hl_emit_pool_alloc(struct hl_thread *t, const struct hl_regs *regs, uint64_t pool,
	const void *addr, size_t size)
{
	struct hl_draft d = {
		.type = HL_REC_POOL_ALLOC, .n_words = 3, .words = {(uintptr_t)addr, 0, pool}};

	emit_stack_event(t, &d, regs, size_field(&d, size), HL_THIS_FRAME);
}
