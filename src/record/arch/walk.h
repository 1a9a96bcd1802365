/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - the state of a walk up a stack, and which memory it may read.
 *
 * [lo, hi) is the known readable range. It has no holes. It starts as the page of the stack pointer
 * and grows with the memory that steps have read. A step that computes its addresses from the stack
 * pointer and a valid unwind table may read without a check. All other steps must call
 * hl_walk_may_read() first. So a clobbered frame pointer ends a walk but cannot crash the program.
 */
#ifndef HL_RECORD_ARCH_WALK_H
#define HL_RECORD_ARCH_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "record/arch/arch.h"

struct hl_walk {
	struct hl_regs r;
	uintptr_t lo, hi;           /* the known readable range, whole pages */
	uintptr_t memo_lo, memo_hi; /* range of earlier walks; merged when it touches [lo, hi) */
	uintptr_t
		segment_end; /* sp where the walk left the first stack for another; 0: it has not */
	const struct hl_regs *start;
	uintptr_t known_pc;  /* a return address at this position that was found plausible before */
	uint64_t generation; /* generation bits of the rules that may be used */
	unsigned misses;     /* rules that had to be compiled */
	bool exact;          /* r.pc was interrupted by a signal: it is not a return address */
	bool guessed;        /* a step had no unwind table: all later frames may be wrong */
	bool careful;        /* exact or guessed: the stack pointer is not trusted either */
	bool disjoint;       /* the range was moved to memory that does not continue the stack */
};

enum hl_step_end {
	HL_STEP_CONTINUE,
	HL_STEP_END,       /* this was the outermost frame */
	HL_STEP_TRUNCATED, /* there may be more frames, but they cannot be found */
	HL_STEP_GENERAL,   /* the rule needs all registers: hl_walk_slow_step() */
};

/* The stack slots that a step has read, so that they can be compared instead of stepping again. */
struct hl_step {
	uintptr_t pc_slot, pc_word;   /* slot 0: the walk ended by the rule alone */
	uintptr_t fp_slot;            /* 0: the step does not change the frame pointer */
	uintptr_t cfa_slot, cfa_word; /* with HL_STEP_CFA: gives the CFA, read first */
	uint32_t flags;
};
#define HL_STEP_USES_FP     1u
#define HL_STEP_INTERRUPTED 2u /* set by the walk: the frame it leaves was interrupted */
#define HL_STEP_SPECIAL     4u /* depends on more than these words: repeat the step to check it */
#define HL_STEP_CFA         8u
#define HL_STEP_GUESSED     16u /* set by the walk: the frame it leaves was guessed */

#define HL_PAGE ((uintptr_t)4096) /* larger pages are multiples of it */

void hl_walk_init(struct hl_walk *w, const struct hl_regs *start);
/*
 * The walk continues at sp, after a signal frame. Unless sp is slightly above that frame, it is on
 * another stack.
 */
void hl_walk_switch_stack(struct hl_walk *w, uintptr_t sp);
/*
 * Can [from, to) be read? Probes pages that are not in the known readable range, and extends or
 * moves the range.
 */
bool hl_walk_probe_range(struct hl_walk *w, uintptr_t from, uintptr_t to);
/* Can one byte be read, such as one of code? Does not change the readable range. */
bool hl_walk_probe(uintptr_t addr);
void hl_walk_forbid_probes(bool forbidden);
bool hl_walk_probes_allowed(void);

hl_inline bool hl_walk_may_read(struct hl_walk *w, uintptr_t from, uintptr_t to)
{
	if (hl_likely(from >= w->lo && to <= w->hi && from < to))
		return true;
	return hl_walk_probe_range(w, from, to);
}

hl_inline uintptr_t hl_word(uintptr_t addr)
{
	return *(const uintptr_t *)addr;
}

#endif
