/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_walk_internal.h - one step by the rule of a pc, for both the full and the incremental walk.
 */
#ifndef HL_RECORD_UNWIND_FULL_WALK_INTERNAL_H
#define HL_RECORD_UNWIND_FULL_WALK_INTERNAL_H

#include "record/unwind/rules_internal.h"

/* No stack is deeper. Ends walks in a cycle, which only a forged ucontext can cause. */
#define HL_FRAMES_MAX (1u << 20)

/* A step that needs all registers. */
enum hl_step_end hl_walk_slow_step(struct hl_walk *w, struct hl_step *s);

/* As hl_arch_step(): r is the position of the walk, w->r is ignored. */
hl_inline enum hl_step_end hl_walk_step(struct hl_walk *w, struct hl_regs *r, struct hl_step *s)
{
	enum hl_step_end end = hl_arch_step(w, r, hl_rule_get(w, r->pc), s);

	if (hl_unlikely(end == HL_STEP_GENERAL)) {
		end = hl_walk_slow_step(w, s);
		*r = w->r;
	}
	return end;
}

#endif
