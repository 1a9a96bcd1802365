/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_walk.c - the full walk: visits every frame and remembers nothing. The incremental walk must
 * give the same result.
 */
#include "record/unwind/full_walk_internal.h"

bool hl_unwind_full(const struct hl_regs *start, hl_unwind_each_fn each, void *arg)
{
	struct hl_regs r = *start;
	struct hl_walk w;
	enum hl_step_end end;
	struct hl_step s;

	hl_walk_init(&w, start);
	w.generation = hl_generation_bits(hl_generation());
	for (unsigned n = 0; n < HL_FRAMES_MAX; n++) {
		/*
		 * An interrupted pc is reported one higher, so that pc - 1 is always inside the
		 * instruction.
		 */
		if (!each(arg, r.pc + w.exact))
			return false;
		end = hl_walk_step(&w, &r, &s);
		if (end != HL_STEP_CONTINUE)
			return end == HL_STEP_TRUNCATED;
	}
	return true;
}
