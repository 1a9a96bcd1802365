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

#define HL_LAST_NUMBER (1u << 31)

/*
 * Once more the last result but for told ones (unwind.h): its depth. Or a told one that was walked
 * after it: its number, from 0, with HL_LAST_NUMBER. 0: another, or it is not known here, ask
 * hl_unwind_way_again(). Good while hl_unwind_serial() is `serial`, which it was before this was
 * asked.
 *
 * Nobody is kept out by being busy. A handler that unwinds meanwhile leaves lists that are half of
 * what was and half of what is: the answer is then wrong, and the serial says so. It is asked here
 * too, so that a list and its length belong together. All they can lead to are words of this stack,
 * and lists that are not emptied while they are read. One that leaves for good by siglongjmp makes
 * `reading` stay: then lists that were outgrown keep their memory, which together is less than the
 * last one's.
 */
hl_inline uint32_t hl_unwind_last_again(
	struct hl_unwinder *u, const struct hl_regs *start, uint64_t serial)
{
	const struct hl_quick *q = &u->quick;
	const struct hl_check *checks;
	bool was_reading;
	uint32_t n, answer;

	if (start->sp != q->sp || start->pc != q->pc || (q->live && start->fp != q->fp) ||
		hl_unlikely(hl_generation() != u->generation))
		return 0;
	was_reading = u->reading;
	u->reading = true;
	atomic_signal_fence(memory_order_seq_cst);
	checks = q->checks;
	n = q->n_checks;
	answer = q->answer;
	atomic_signal_fence(memory_order_seq_cst);
	if (hl_unlikely(hl_unwind_serial(u) != serial) || hl_first_to_fail(checks, n)) {
		answer = 0;
	} else {
		u->counts.unwinds++;
		u->counts.verified += q->depth;
	}
	atomic_signal_fence(memory_order_seq_cst);
	u->reading = was_reading;
	return answer;
}

#endif
