/*
 * usual.c - the usual allocation and the usual free, in as few instructions as they take.
 *
 * Usual is: the thread has a ring with room for the record in one piece, nobody is half-way in a
 * put, everything is recorded, the ring has said which scope this is in, and of an allocation the
 * stack is the last one or has a number. What is not goes to emit.c, which does the same for
 * whatever may come and says why each step is where it is; the order of steps is that of the ring
 * (ring/producer.h): position, then what must hold since, room, busy bit, stamp, words, commit.
 */
#include "record/emit_internal.h"
#include "record/recorder.h"
#include "record/stamp.h"
#include "record/steer.h"
#include "record/timed.h"

/* Settings under which nothing is usual. */
#define UNUSUAL_ALLOC (HL_SET_FULL_UNWIND | HL_SET_ZERO)
#define UNUSUAL_FREE  HL_SET_FREE_STACKS

/* Room for a record of n words in one piece, and nothing in the way of putting it there. */
hl_inline bool has_place(
	const struct hl_thread *t, const struct hl_producer *out, uint64_t pos, uint32_t n)
{
	uint64_t size = out->mask + 1;

	atomic_signal_fence(memory_order_seq_cst); /* not before the position was read */
	return !(pos & 1) && pos + n * 8 - out->tail <= size && (pos & out->mask) + n * 8 <= size &&
	       hl_tls.tag == t->told_tag && hl_rec.stamp_mode == HL_STAMP_TSC;
}

/* Odd: somebody is in the middle of a put. */
hl_inline uint64_t position(const struct hl_producer *out)
{
	return __atomic_load_n(&out->ring->w, __ATOMIC_RELAXED);
}

hl_inline uint64_t *place(const struct hl_producer *out, uint64_t pos)
{
	return (uint64_t *)((char *)out->data + (pos & out->mask));
}

/* --- allocations --- */

#define ALLOC_WORDS 3u

/*
 * The stack word of a stack that the collector knows: by its number, or as its last one. 0: it must
 * be told more. `last`: what it has as our last stack is the result before this one.
 */
hl_inline uint64_t known_stack(
	const struct hl_thread *t, const struct hl_stack *s, uint64_t size, bool last)
{
	if (s->told)
		return hl_way_word(size, s->number - 1);
	if (hl_likely(last && s->common == s->depth && t->synced == s->depth && !s->number &&
		      s->depth <= hl_rec.depth_inner + hl_rec.depth_outer && !s->cut))
		return hl_stack_word(size, 0, s->depth);
	return 0;
}

/* False: not in the ring, start over. */
hl_inline bool put_alloc(struct hl_thread *t, struct hl_producer *out, uint64_t pos, uint32_t func,
	const void *addr, uint64_t word, const struct hl_stack *s)
{
	uint64_t *to = place(out, pos);

	if (hl_unlikely(!hl_emit_begin(t, out, pos)))
		return false;
	to[0] = hl_first_word(hl_stamp_tsc(), HL_REC_ALLOC, func);
	to[1] = (uintptr_t)addr;
	to[2] = word;
	if (hl_unlikely(!hl_unwind_is_current(s))) {
		hl_producer_cancel(out, pos);
		return false;
	}
	return hl_producer_commit(out, pos, ALLOC_WORDS);
}

hl_inline void alloc(struct hl_thread *t, const struct hl_regs *regs, uint32_t func,
	const void *addr, size_t size)
{
	struct hl_producer out;
	struct hl_stack stack;
	uint64_t pos, word;
	bool last;

	if (hl_unlikely(
		    t->shared || size >= HL_SIZE_BIG || hl_unwind(t->unwinder, regs, &stack) < 0)) {
		hl_emit_alloc_any(t, regs, func, addr, size, HL_THIS_FRAME);
		return;
	}
	out = t->out;
	pos = position(&out);
	last = t->synced_at == pos && t->synced_serial + 1 == stack.serial;
	word = known_stack(t, &stack, size, last);
	if (hl_unlikely(!word || !has_place(t, &out, pos, ALLOC_WORDS))) {
		struct hl_unwound e = {t, regs, addr, size, func, HL_THIS_FRAME};

		hl_emit_alloc_unwound(&e, &stack);
		return;
	}
	if (hl_unlikely(!put_alloc(t, &out, pos, func, addr, word, &stack))) {
		hl_emit_alloc_any(t, regs, func, addr, size, HL_THIS_FRAME);
		return;
	}
	if (last) {
		t->synced_serial = stack.serial;
		t->synced_at = pos + ALLOC_WORDS * 8;
	}
}

static hl_noinline void *alloc_timed(
	struct hl_thread *t, const struct hl_regs *regs, uint32_t func, void *addr, size_t size)
{
	struct hl_timed w = hl_timed_start(t);

	alloc(t, regs, func, addr, size);
	hl_timed_end(t, w);
	hl_steer_recorded(addr);
	return addr;
}

void *hl_emit_alloc(const struct hl_regs *regs, uint32_t func, void *addr, size_t size)
{
	struct hl_thread *t = hl_tls.thread;

	if (hl_unlikely(!t || !atomic_load_explicit(&hl_alive.on, memory_order_relaxed) ||
			hl_steer() & HL_STEER_ASK_ALLOC || hl_rec.settings & UNUSUAL_ALLOC))
		return hl_emit_alloc_asked(regs, func, addr, size);
	if (hl_unlikely(!hl_timed_passes(t)))
		return alloc_timed(t, regs, func, addr, size);
	alloc(t, regs, func, addr, size);
	hl_steer_recorded(addr);
	return addr;
}

/* --- frees --- */

#define FREE_WORDS 2u

/* False: not in the ring. */
hl_inline bool put_free(struct hl_thread *t, uint32_t func, const void *addr)
{
	struct hl_producer out = t->out;
	uint64_t pos, *to;

	if (hl_unlikely(t->shared))
		return false;
	pos = position(&out);
	if (hl_unlikely(!has_place(t, &out, pos, FREE_WORDS) || !hl_emit_begin(t, &out, pos)))
		return false;
	to = place(&out, pos);
	to[0] = hl_first_word(hl_stamp_tsc(), HL_REC_FREE, func);
	to[1] = (uintptr_t)addr;
	if (hl_unlikely(!hl_producer_commit(&out, pos, FREE_WORDS)))
		return false;
	if (t->synced_at == pos)
		t->synced_at = pos + FREE_WORDS * 8;
	return true;
}

static hl_noinline void free_timed(struct hl_thread *t, uint32_t func, const void *addr)
{
	struct hl_timed w = hl_timed_start(t);

	if (!put_free(t, func, addr))
		hl_emit_free_any(t, func, addr, HL_THIS_FRAME);
	hl_timed_end(t, w);
}

void hl_emit_free(const struct hl_regs *regs, uint32_t func, const void *addr)
{
	struct hl_thread *t = hl_tls.thread;

	if (hl_unlikely(!t || !atomic_load_explicit(&hl_alive.on, memory_order_relaxed) ||
			hl_steer() & HL_STEER_ASK_FREE || hl_rec.settings & UNUSUAL_FREE))
		hl_emit_free_asked(regs, func, addr);
	else if (hl_unlikely(!hl_timed_passes(t)))
		free_timed(t, func, addr);
	else if (hl_unlikely(!put_free(t, func, addr)))
		hl_emit_free_any(t, func, addr, HL_THIS_FRAME);
}
