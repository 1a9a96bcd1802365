/*
 * full.c - the plain walk: every frame, nothing remembered. What the incremental walk must equal.
 */
#include "record/unwind/full_internal.h"

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
		 * An interrupted pc is reported one higher: one can always subtract 1 and be
		 * inside.
		 */
		if (!each(arg, r.pc + w.exact))
			return false;
		end = hl_walk_step(&w, &r, &s);
		if (end != HL_STEP_ON)
			return end == HL_STEP_CUT;
	}
	return true;
}
