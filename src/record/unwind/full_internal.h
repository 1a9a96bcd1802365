/*
 * full_internal.h - one step by whatever rule applies, for the full and the incremental walk alike.
 */
#ifndef HL_RECORD_UNWIND_FULL_INTERNAL_H
#define HL_RECORD_UNWIND_FULL_INTERNAL_H

#include "record/unwind/rules_internal.h"

/* No stack is deeper; ends walks in circles, which only a hostile ucontext could make. */
#define HL_FRAMES_MAX (1u << 20)

/* The step that needs all registers. */
enum hl_step_end hl_walk_general(struct hl_walk *w, struct hl_step *s);

hl_inline enum hl_step_end hl_walk_step(struct hl_walk *w, struct hl_step *s)
{
	enum hl_step_end end = hl_arch_step(w, hl_rule_get(w), s);

	if (hl_unlikely(end == HL_STEP_GENERAL))
		end = hl_walk_general(w, s);
	return end;
}

/* What is reported for a frame: one can always subtract 1 and be inside the instruction. */
hl_inline uintptr_t hl_walk_pc(const struct hl_walk *w)
{
	return w->r.pc + w->exact;
}

#endif
