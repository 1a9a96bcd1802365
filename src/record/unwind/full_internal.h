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

/* As hl_arch_step(): r is where the walk stands, w->r is not looked at. */
hl_inline enum hl_step_end hl_walk_step(struct hl_walk *w, struct hl_regs *r, struct hl_step *s)
{
	enum hl_step_end end = hl_arch_step(w, r, hl_rule_get(w, r->pc), s);

	if (hl_unlikely(end == HL_STEP_GENERAL)) {
		end = hl_walk_general(w, s);
		*r = w->r;
	}
	return end;
}

#endif
