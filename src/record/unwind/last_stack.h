/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_stack.h - the first check of every allocation, inline: is this the same stack as the last
 * one?
 *
 * It uses the same comparison as unwind.c and is correct for the same reason. For an allocation in
 * a loop it is all the unwinding that is needed; for every other allocation it is the first step. A
 * function call with its saved registers would take a tenth of the time that recording such an
 * allocation takes.
 */
#ifndef HL_RECORD_UNWIND_LAST_STACK_H
#define HL_RECORD_UNWIND_LAST_STACK_H

#include "record/unwind/memo_internal.h"

#define HL_LAST_STACK_ID (1u << 31)

/*
 * Returns the depth of the stack if it is the base result again (unwind.h). Returns
 * HL_LAST_STACK_ID | id if it is the stack that was walked last and the collector knows its id.
 * Returns 0 if it is another stack or nothing is known: call hl_unwind_lookup(). `serial` is
 * hl_unwind_serial() from before this call; the result is valid while that does not change.
 *
 * No lock (seqlock pattern): a signal handler may unwind while this runs and change the arrays. The
 * result is then garbage, and the changed serial rejects it. The serial is also checked here before
 * the arrays are used, so that an array and its length belong together. All reads are of words of
 * this stack, and of arrays that are not emptied while `reading` is set. If a handler leaves for
 * good by siglongjmp, `reading` stays set. Then arrays that were outgrown keep their memory;
 * together they are smaller than the current one.
 */
hl_inline uint32_t hl_unwind_is_last_stack(
	struct hl_unwinder *u, const struct hl_regs *start, uint64_t serial)
{
	const struct hl_last_stack *last = &u->last_stack;
	const struct hl_check *checks;
	bool was_reading;
	uint32_t n, result;

	if (start->sp != last->sp || start->pc != last->pc ||
		(last->fp_live && start->fp != last->fp) ||
		hl_unlikely(hl_generation() != u->generation))
		return 0;
	was_reading = u->reading;
	u->reading = true;
	atomic_signal_fence(memory_order_seq_cst);
	checks = last->checks;
	n = last->n_checks;
	result = last->result;
	atomic_signal_fence(memory_order_seq_cst);
	if (hl_unlikely(hl_unwind_serial(u) != serial) || hl_failed_check(checks, n)) {
		result = 0;
	} else {
		u->counts.unwinds++;
		u->counts.verified += last->depth;
	}
	atomic_signal_fence(memory_order_seq_cst);
	u->reading = was_reading;
	return result;
}

#endif
