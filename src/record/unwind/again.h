/*
 * again.h - the question that every allocation asks first, inline: is this the last stack again?
 *
 * All of it by the same parts as in unwind.c, and believed for the same reason. It is the whole way
 * of an allocation in a loop, and the first step of any other: a call and its saved registers would
 * be a tenth of what recording such an allocation takes.
 */
#ifndef HL_RECORD_UNWIND_AGAIN_H
#define HL_RECORD_UNWIND_AGAIN_H

#include "record/unwind/memo_internal.h"

#define HL_LAST_ASK    UINT32_MAX /* ask hl_unwind() */
#define HL_LAST_NUMBER (1u << 31) /* with the number that it was told by */

/* The memo holds, and was not the last that was told whole. */
hl_inline uint32_t hl_unwind_last_number(struct hl_unwinder *u, const struct hl_memo *m)
{
	/* in this order: lists that a handler has exchanged since are longer */
	uint32_t depth = *(const volatile uint32_t *)&m->depth, number;
	const struct hl_kept *frames = *(struct hl_kept *const volatile *)&m->frames;

	if (hl_unlikely(!depth || m->cut))
		return HL_LAST_ASK;
	number = hl_numbers_find(&u->numbers, frames[depth - 1].hash);
	if (!number)
		return HL_LAST_ASK;
	u->counts.unwinds++;
	u->counts.verified += depth;
	return HL_LAST_NUMBER | (number - 1);
}

/*
 * The last result but for told ones (unwind.h), once more: its depth; or the number of one that
 * was told; 0: another, ask hl_unwind_way_again(). Good while hl_unwind_serial() is what it was
 * before this was asked.
 *
 * Nobody is kept out by being busy. A handler that unwinds meanwhile leaves a memo that is half of
 * what was and half of what is: the answer is then wrong, and the serial says so. All it can lead
 * to are words of this stack, and lists that are not emptied while they are read. One that leaves
 * for good by siglongjmp makes `reading` stay: then lists that were outgrown keep their memory,
 * which together is less than the last one's.
 */
hl_inline uint32_t hl_unwind_last_again(struct hl_unwinder *u, const struct hl_regs *start)
{
	bool was_reading = u->reading;
	uint32_t depth = HL_LAST_ASK;
	struct hl_memo *m;

	if (hl_unlikely(u->busy))
		return HL_LAST_ASK;
	u->reading = true;
	atomic_signal_fence(memory_order_seq_cst);
	m = hl_memo_ready(u, start);
	if (hl_likely(m != NULL)) {
		if (!hl_memo_unchanged(m, start)) {
			depth = 0;
		} else if (hl_likely(u->last == m && m->unchanged == m->depth && !m->cut)) {
			depth = m->depth;
			m->failures = 0;
			u->counts.unwinds++;
			u->counts.verified += depth;
		} else {
			depth = hl_unwind_last_number(u, m);
		}
	}
	atomic_signal_fence(memory_order_seq_cst);
	u->reading = was_reading;
	return depth;
}

#endif
