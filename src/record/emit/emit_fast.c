/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_fast.c - the fast path of an allocation and of a free, in as few instructions as possible.
 *
 * The fast path handles this case: the thread has a ring of its own with contiguous room for the
 * record, no record is being written in that ring, every event is recorded, the ring has the
 * current tag, and the stack of an allocation is the last one or has a stack id. All other cases go
 * to emit.c, which is correct in every case and explains the order of steps. The order is that of
 * the ring (ring/producer.h): read the position, check what must hold since then, room, busy bit,
 * stamp, words, commit.
 *
 * Exits of hl_on_alloc(), in the order of the checks:
 *
 *   condition                                                      exit
 *   p is NULL (the allocation failed)                              hl_on_alloc_slow()
 *   the thread has no state, or hl_fork_page.on is 0               hl_on_alloc_slow()
 *   --unwind=full, --zero-memory or heaplapse_pause()              hl_on_alloc_slow()
 *   control word: PAUSED, STOP, PARTIAL or mode tags               hl_on_alloc_slow()
 *   this hook is to be timed                                       alloc_timed()
 *   the thread uses shared rings, or the size needs its own word   alloc_slow()
 *   the stack is not that of the last-stack memo                   alloc_other_stack()
 *     it has a stack id that was sent                                put_known_alloc()
 *     it was walked now, and its id was sent before                  put_alloc_by_id()
 *     it was walked now, and its id was not sent or that put failed  hl_emit_alloc_unwound()
 *     HL_LOOKUP_UNWIND, or the walk or put_known_alloc() failed      alloc_slow()
 *   last stack, and the ring still ends in sync with it            put_known_alloc(), no pcs
 *   last stack, not in sync, but it has a stack id                 put_known_alloc(), by id
 *   last stack, neither                                            alloc_slow()
 *   put_known_alloc() failed: busy bit, no contiguous room, tag
 *     not sent, stamps not by TSC, or a signal handler wrote       alloc_slow()
 *
 * hl_fork_page.on is 0 before the constructor, while recording is stopped, after it has ended, and
 * at the first event of a fork child. The fast path, alloc_slow() and alloc_other_stack() end in
 * finish_alloc(), which adds the block to the sampling filter if the control word has PARTIAL by
 * now. alloc_timed() calls hl_on_alloc() again.
 *
 * hl_on_free() has three exits: hl_on_free_slow() if the thread has no state, hl_fork_page.on is 0,
 * frees are recorded with their stacks, or the control word has one of the bits above;
 * free_timed(); and free_slow() if put_free() fails.
 */
#include "record/emit/emit_internal.h"
#include "record/hooks/hooks.h"
#include "record/session/recorder.h"
#include "record/emit/stamp.h"
#include "record/emit/sampling.h"
#include "record/emit/hook_timer.h"
#include "record/unwind/last_stack.h"

/* Bits of the control word. If one of these is set, no event takes the fast path. */
#define CONTROL_NOT_FAST (HL_CONTROL_DECIDE_ALLOC | HL_CONTROL_DECIDE_FREE | HL_MODE_IS_TAGS)

/* The calling thread's state if its event may take the fast path, else NULL. slow_bit is
 * HL_RECORDING_ALLOC_SLOW or HL_RECORDING_FREE_SLOW, the bit that sends this kind of event to the
 * slow path. */
hl_inline struct hl_thread *get_fast_thread(uint32_t slow_bit)
{
	struct hl_thread *t = hl_tls.thread;
	uint32_t on = atomic_load_explicit(&hl_fork_page.on, memory_order_relaxed);

	if (hl_likely(t && (on & (HL_RECORDING | slow_bit)) == HL_RECORDING &&
		      !(hl_control() & CONTROL_NOT_FAST)))
		return t;
	return NULL;
}

/* True if a record of n words can be put at pos: there is contiguous room, the busy bit is clear,
 * the ring has the current tag, and stamps are made by the cycle counter. */
hl_inline bool can_put(const struct hl_thread *t, uint64_t pos, uint32_t n)
{
	atomic_signal_fence(memory_order_seq_cst); /* not before the position was read */
	return !(pos & 1) && pos + n * 8 <= t->out.limit && hl_tls.tag == t->sent_tag &&
	       hl_rec.stamp_mode == HL_STAMP_TSC;
}

/* The slow path for one event. It refreshes the limit, so that later events may take the fast path
 * again. It is a separate function and called last: a hook that calls nothing else saves no
 * registers. */
static hl_noinline void free_slow(
	struct hl_thread *t, uint32_t func, const void *addr, uintptr_t frame)
{
	if (!t->shared)
		(void)hl_producer_update_limit(&t->out, hl_producer_pos(&t->out), 1);
	hl_emit_free_slow(t, func, addr, frame);
}

/* An odd value means that a record is being written (busy bit). */
hl_inline uint64_t read_position(const struct hl_producer *out)
{
	return __atomic_load_n(&out->ring->head, __ATOMIC_RELAXED);
}

hl_inline uint64_t *words_at(const struct hl_producer *out, uint64_t pos)
{
	return (uint64_t *)((char *)out->data + (pos & out->mask));
}

/* --- allocations --- */

#define ALLOC_WORDS 3u

/* False: nothing was committed, start over. */
hl_inline bool put_alloc(struct hl_thread *t, uint64_t pos, uint32_t func, const void *addr,
	uint64_t word, uint64_t serial)
{
	struct hl_producer *out = &t->out;
	uint64_t *to = words_at(out, pos);

	if (hl_unlikely(!hl_emit_begin(t, out, pos)))
		return false;
	to[0] = hl_first_word(hl_stamp_tsc(), HL_REC_ALLOC, func);
	to[1] = (uintptr_t)addr;
	to[2] = word;
	if (hl_unlikely(hl_unwind_serial(t->unwinder) != serial)) {
		hl_producer_cancel(out, pos);
		return false;
	}
	return hl_producer_commit(out, pos, ALLOC_WORDS);
}

/* Puts an allocation whose stack is described by `word` alone. The word is valid while the
 * unwinder's serial is `serial`. False: as for put_alloc(). */
hl_inline bool put_known_alloc(struct hl_thread *t, uint64_t pos, uint32_t func, const void *addr,
	uint64_t word, uint64_t serial)
{
	if (hl_unlikely(
		    !can_put(t, pos, ALLOC_WORDS) || !put_alloc(t, pos, func, addr, word, serial)))
		return false;
	if (t->synced_at == pos)
		t->synced_at = pos + ALLOC_WORDS * 8;
	return true;
}

/* Puts an allocation whose stack was walked and whose stack id was sent before. The last stack that
 * the collector has for this ring does not change, and neither does our record of it. */
hl_inline bool put_alloc_by_id(
	struct hl_thread *t, uint32_t func, const void *addr, size_t size, const struct hl_stack *s)
{
	uint64_t pos = read_position(&t->out);
	bool synced = t->synced_at == pos && t->synced_serial + 1 == s->serial;

	if (hl_unlikely(!put_known_alloc(
		    t, pos, func, addr, hl_stack_id_word(size, s->id_plus_1 - 1), s->serial)))
		return false;
	if (synced)
		t->synced_serial = s->serial;
	return true;
}

/* For allocations that are followed by more work than a record. A separate function, so that the
 * fast path makes no call. */
static hl_noinline void *add_to_filter(void *p)
{
	hl_sampling_after_alloc(p);
	return p;
}

hl_inline void *finish_alloc(void *p)
{
	return hl_unlikely(hl_control() & HL_CONTROL_PARTIAL) ? add_to_filter(p) : p;
}

/* The event cannot be put here, or its stack needs more than one word. */
static hl_noinline void *alloc_slow(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	const struct hl_regs regs = hl_arch_caller(hook);

	if (!t->shared)
		(void)hl_producer_update_limit(&t->out, hl_producer_pos(&t->out), 1);
	hl_emit_alloc_slow(t, &regs, func, p, size, (uintptr_t)hook);
	return finish_alloc(p);
}

/* The stack is not the last one. It may have a stack id; otherwise it must be walked. */
static hl_noinline void *alloc_other_stack(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	struct hl_stack_lookup lookup = hl_unwind_lookup(t->unwinder, &regs);
	struct hl_stack stack;

	if (hl_likely(lookup.result == HL_LOOKUP_ID)) {
		if (hl_unlikely(!put_known_alloc(t, read_position(&t->out), func, p,
			    hl_stack_id_word(size, lookup.id), lookup.serial)))
			return alloc_slow(t, p, hook, func, size);
	} else if (hl_likely(lookup.result == HL_LOOKUP_MISS &&
			     hl_unwind_after_miss(t->unwinder, &regs, &stack) == 0)) {
		struct hl_unwound e = {t, &regs, p, size, func, (uintptr_t)hook};

		if (!stack.id_sent || !put_alloc_by_id(t, func, p, size, &stack))
			hl_emit_alloc_unwound(&e, &stack);
	} else {
		return alloc_slow(t, p, hook, func, size);
	}
	return finish_alloc(p);
}

/* Times hl_on_alloc() itself: the code is warm, as it is for events that are not timed. */
static hl_noinline void *alloc_timed(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	struct hl_hook_timer w = hl_hook_timer_start(t);

	t->until_timed++; /* hl_on_alloc() counts this event a second time */
	hl_on_alloc(p, hook, func, size);
	hl_hook_timer_end(t, w);
	return p;
}

/* All other exits are tail calls, so the fast path saves no registers. */
void *hl_on_alloc(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	struct hl_thread *t = get_fast_thread(HL_RECORDING_ALLOC_SLOW);
	uint64_t serial, pos, word;
	uint32_t last;

	if (hl_unlikely(!t || !p))
		return hl_on_alloc_slow(p, hook, func, size);
	if (hl_unlikely(!hl_hook_timer_skips(t)))
		return alloc_timed(t, p, hook, func, size);
	if (hl_unlikely(t->shared || size >= HL_SIZE_BIG))
		return alloc_slow(t, p, hook, func, size);
	serial = hl_unwind_serial(t->unwinder);
	last = hl_unwind_is_last_stack(t->unwinder, &regs, serial);
	if (!last)
		return alloc_other_stack(t, p, hook, func, size);
	pos = read_position(&t->out);
	/* The ring must still end where this stack was sent, and the whole stack must have been
	 * sent. It was not if the stack is deeper than the depth limit. */
	if (hl_likely(t->synced_serial == serial && t->synced_at == pos && t->synced_depth == last))
		word = hl_stack_word(size, 0, last);
	else if (last & HL_LAST_STACK_ID)
		word = hl_stack_id_word(size, last & ~HL_LAST_STACK_ID);
	else
		return alloc_slow(t, p, hook, func, size);
	if (hl_unlikely(!put_known_alloc(t, pos, func, p, word, serial)))
		return alloc_slow(t, p, hook, func, size);
	return finish_alloc(p);
}

/* --- frees --- */

#define FREE_WORDS 2u

/* False: nothing was committed. */
hl_inline bool put_free(struct hl_thread *t, uint32_t func, const void *addr)
{
	struct hl_producer *out = &t->out;
	uint64_t pos, *to;

	if (hl_unlikely(t->shared))
		return false;
	pos = read_position(out);
	if (hl_unlikely(!can_put(t, pos, FREE_WORDS) || !hl_emit_begin(t, out, pos)))
		return false;
	to = words_at(out, pos);
	to[0] = hl_first_word(hl_stamp_tsc(), HL_REC_FREE, func);
	to[1] = (uintptr_t)addr;
	if (hl_unlikely(!hl_producer_commit(out, pos, FREE_WORDS)))
		return false;
	if (t->synced_at == pos)
		t->synced_at = pos + FREE_WORDS * 8;
	return true;
}

static hl_noinline void free_timed(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func)
{
	struct hl_hook_timer w = hl_hook_timer_start(t);

	t->until_timed++;
	hl_on_free(p, hook, func);
	hl_hook_timer_end(t, w);
}

void hl_on_free(void *p, const struct hl_arch_frame *hook, uint32_t func)
{
	struct hl_thread *t = get_fast_thread(HL_RECORDING_FREE_SLOW);

	if (hl_unlikely(!t))
		hl_on_free_slow(p, hook, func);
	else if (hl_unlikely(!hl_hook_timer_skips(t)))
		free_timed(t, p, hook, func);
	else if (hl_unlikely(!put_free(t, func, p)))
		free_slow(t, func, p, (uintptr_t)hook);
}
