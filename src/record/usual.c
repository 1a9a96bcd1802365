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
#include "record/hooks.h"
#include "record/recorder.h"
#include "record/stamp.h"
#include "record/steer.h"
#include "record/timed.h"
#include "record/unwind/again.h"

/* In the collector's word: with one of these nothing is usual. */
#define STEER_UNUSUAL (HL_STEER_ASK_ALLOC | HL_STEER_ASK_FREE | HL_MODE_IS_TAGS)

/* The calling thread, if what it does is recorded as usual; else NULL. more: HL_ALIVE_* of it. */
hl_inline struct hl_thread *usual_thread(uint32_t more)
{
	struct hl_thread *t = hl_tls.thread;
	uint32_t on = atomic_load_explicit(&hl_alive.on, memory_order_relaxed);

	if (hl_likely(t && (on & (HL_ALIVE_ON | more)) == HL_ALIVE_ON &&
		      !(hl_steer() & STEER_UNUSUAL)))
		return t;
	return NULL;
}

/* Room for a record of n words in one piece, and nothing in the way of putting it there. */
hl_inline bool has_place(const struct hl_thread *t, uint64_t pos, uint32_t n)
{
	atomic_signal_fence(memory_order_seq_cst); /* not before the position was read */
	return !(pos & 1) && pos + n * 8 <= t->out.limit && hl_tls.tag == t->told_tag &&
	       hl_rec.stamp_mode == HL_STAMP_TSC;
}

/* An event that has no place goes the long way; those after it may have one again. Apart, and the
 * last that is called: a hook that calls nothing else has no registers to save. */
static hl_noinline void free_any(
	struct hl_thread *t, uint32_t func, const void *addr, uintptr_t frame)
{
	if (!t->shared)
		(void)hl_producer_widen(&t->out, hl_producer_pos(&t->out), 1);
	hl_emit_free_any(t, func, addr, frame);
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

/* False: not in the ring, start over. */
hl_inline bool put_alloc(struct hl_thread *t, uint64_t pos, uint32_t func, const void *addr,
	uint64_t word, uint64_t serial)
{
	struct hl_producer *out = &t->out;
	uint64_t *to = place(out, pos);

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

/* The stack is told by `word`, if it is that of this serial. False: as above. */
hl_inline bool alloc_known(struct hl_thread *t, uint64_t pos, uint32_t func, const void *addr,
	uint64_t word, uint64_t serial)
{
	if (hl_unlikely(!has_place(t, pos, ALLOC_WORDS) ||
			!put_alloc(t, pos, func, addr, word, serial)))
		return false;
	if (t->synced_at == pos)
		t->synced_at = pos + ALLOC_WORDS * 8;
	return true;
}

/* A stack that was walked and is known by its number. What the collector has as our last one stays,
 * and so does what we think of it. */
hl_inline bool alloc_told(
	struct hl_thread *t, uint32_t func, const void *addr, size_t size, const struct hl_stack *s)
{
	uint64_t pos = position(&t->out);
	bool synced = t->synced_at == pos && t->synced_serial + 1 == s->serial;

	if (hl_unlikely(
		    !alloc_known(t, pos, func, addr, hl_way_word(size, s->number - 1), s->serial)))
		return false;
	if (synced)
		t->synced_serial = s->serial;
	return true;
}

/* For all that come behind a record, in a function of its own: the usual one calls nothing. */
static hl_noinline void *known_from_now(void *p)
{
	hl_steer_recorded(p);
	return p;
}

hl_inline void *recorded(void *p)
{
	return hl_unlikely(hl_steer() & HL_STEER_PART) ? known_from_now(p) : p;
}

/* An event that has no place, or a stack of which must be told more than a word. */
static hl_noinline void *made_long(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	const struct hl_regs regs = hl_arch_caller(hook);

	if (!t->shared)
		(void)hl_producer_widen(&t->out, hl_producer_pos(&t->out), 1);
	hl_emit_alloc_any(t, &regs, func, p, size, (uintptr_t)hook);
	return recorded(p);
}

/* Not the last stack: one that has a number, or else one that must be walked. */
static hl_noinline void *made_elsewhere(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	struct hl_again again = hl_unwind_way_again(t->unwinder, &regs);
	struct hl_stack stack;

	if (hl_likely(again.what == HL_AGAIN_NUMBER)) {
		if (hl_unlikely(!alloc_known(t, position(&t->out), func, p,
			    hl_way_word(size, again.n), again.serial)))
			return made_long(t, p, hook, func, size);
	} else if (hl_likely(again.what == HL_AGAIN_NEW &&
			     hl_unwind_new(t->unwinder, &regs, &stack) == 0)) {
		struct hl_unwound e = {t, &regs, p, size, func, (uintptr_t)hook};

		if (!stack.told || !alloc_told(t, func, p, size, &stack))
			hl_emit_alloc_unwound(&e, &stack);
	} else {
		return made_long(t, p, hook, func, size);
	}
	return recorded(p);
}

/* By the same code as all others, which is warm. */
static hl_noinline void *made_timed(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	struct hl_timed w = hl_timed_start(t);

	t->until_timed++; /* it is counted a second time */
	hl_hook_made(p, hook, func, size);
	hl_timed_end(t, w);
	return p;
}

/* What is not the usual goes on by a jump. */
void *hl_hook_made(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	struct hl_thread *t = usual_thread(HL_ALIVE_ALLOC);
	uint64_t serial, pos, word;
	uint32_t last;

	if (hl_unlikely(!t || !p))
		return hl_hook_made_any(p, hook, func, size);
	if (hl_unlikely(!hl_timed_passes(t)))
		return made_timed(t, p, hook, func, size);
	if (hl_unlikely(t->shared || size >= HL_SIZE_BIG))
		return made_long(t, p, hook, func, size);
	serial = hl_unwind_serial(t->unwinder);
	last = hl_unwind_last_again(t->unwinder, &regs, serial);
	if (!last)
		return made_elsewhere(t, p, hook, func, size);
	pos = position(&t->out);
	/* The ring must still end where that stack was told, and that whole: not if it was deeper
	 * than stacks may be. */
	if (hl_likely(t->synced_serial == serial && t->synced_at == pos && t->synced == last))
		word = hl_stack_word(size, 0, last);
	else if (last & HL_LAST_NUMBER)
		word = hl_way_word(size, last & ~HL_LAST_NUMBER);
	else
		return made_long(t, p, hook, func, size);
	if (hl_unlikely(!alloc_known(t, pos, func, p, word, serial)))
		return made_long(t, p, hook, func, size);
	return recorded(p);
}

/* --- frees --- */

#define FREE_WORDS 2u

/* False: not in the ring. */
hl_inline bool put_free(struct hl_thread *t, uint32_t func, const void *addr)
{
	struct hl_producer *out = &t->out;
	uint64_t pos, *to;

	if (hl_unlikely(t->shared))
		return false;
	pos = position(out);
	if (hl_unlikely(!has_place(t, pos, FREE_WORDS) || !hl_emit_begin(t, out, pos)))
		return false;
	to = place(out, pos);
	to[0] = hl_first_word(hl_stamp_tsc(), HL_REC_FREE, func);
	to[1] = (uintptr_t)addr;
	if (hl_unlikely(!hl_producer_commit(out, pos, FREE_WORDS)))
		return false;
	if (t->synced_at == pos)
		t->synced_at = pos + FREE_WORDS * 8;
	return true;
}

static hl_noinline void gone_timed(
	struct hl_thread *t, void *p, const struct hl_arch_frame *hook, uint32_t func)
{
	struct hl_timed w = hl_timed_start(t);

	t->until_timed++;
	hl_hook_gone(p, hook, func);
	hl_timed_end(t, w);
}

void hl_hook_gone(void *p, const struct hl_arch_frame *hook, uint32_t func)
{
	struct hl_thread *t = usual_thread(HL_ALIVE_FREE);

	if (hl_unlikely(!t))
		hl_hook_gone_any(p, hook, func);
	else if (hl_unlikely(!hl_timed_passes(t)))
		gone_timed(t, p, hook, func);
	else if (hl_unlikely(!put_free(t, func, p)))
		free_any(t, func, p, (uintptr_t)hook);
}
