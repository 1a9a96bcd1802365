/*
 * walk.h - the state of a walk up a stack, and which memory it may read.
 *
 * [lo, hi) is readable and holds no gap: it starts as the page of the stack pointer and grows with
 * what steps have read. A step that takes its addresses from the stack pointer and a valid unwind
 * table may read without asking; any other asks hl_walk_vouch() first. So a clobbered frame pointer
 * ends a walk, never the program.
 */
#ifndef HL_RECORD_ARCH_WALK_H
#define HL_RECORD_ARCH_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "record/arch/arch.h"

struct hl_walk {
	struct hl_regs r;
	uintptr_t lo, hi; /* vouched for: whole pages */
	uintptr_t memo_lo,
		memo_hi; /* vouched for by earlier walks of this stack; joined when we get there */
	uintptr_t segment_end; /* where the first stack was left for another one; 0: not yet */
	const struct hl_regs *start;
	uintptr_t known_pc;  /* a return address found plausible before, in this very place */
	uint64_t generation; /* the bits of rules that may be used */
	unsigned misses;     /* rules that had to be compiled */
	bool exact;          /* r.pc was interrupted, it is no return address */
	bool guessed;        /* some step had no table to go by: all that follows may be wrong */
	bool careful;        /* either: then not even the stack pointer is trusted */
	bool strayed;        /* the last vouched range was no continuation of the stack */
};

enum hl_step_end {
	HL_STEP_ON,
	HL_STEP_END,     /* that was the outermost frame */
	HL_STEP_CUT,     /* there may be more, but no way to know where */
	HL_STEP_GENERAL, /* this rule needs the full register file */
};

/* What a step has read, so that it can be checked instead of repeated. */
struct hl_step {
	uintptr_t pc_slot, pc_word;   /* slot 0: the rule alone ended the walk */
	uintptr_t fp_slot;            /* 0: the step keeps the frame pointer */
	uintptr_t cfa_slot, cfa_word; /* with HL_STEP_CFA: the word that gave the CFA, read first */
	uint32_t flags;
};
#define HL_STEP_USES_FP 1u
#define HL_STEP_EXACT   2u /* set by the walk: the frame it leads out of was interrupted */
#define HL_STEP_SPECIAL 4u /* its outcome depends on more than these words: repeat it */
#define HL_STEP_CFA     8u
#define HL_STEP_GUESSED 16u /* set by the walk: that frame was found by guessing */

#define HL_PAGE ((uintptr_t)4096) /* larger pages are multiples of it */

void hl_walk_init(struct hl_walk *w, const struct hl_regs *start);
/* The walk has jumped to sp (signal frame): another stack, unless it lies close above. */
void hl_walk_hop(struct hl_walk *w, uintptr_t sp);
/* May [from, to) be read? Probes pages that nobody has vouched for yet. */
bool hl_walk_vouch(struct hl_walk *w, uintptr_t from, uintptr_t to);
/* A single byte, such as one of code: as above, without changing the vouched range. */
bool hl_walk_probe(uintptr_t addr);
void hl_walk_forbid_probes(bool forbidden);
bool hl_walk_probes_allowed(void);

hl_inline bool hl_walk_may_read(struct hl_walk *w, uintptr_t from, uintptr_t to)
{
	if (hl_likely(from >= w->lo && to <= w->hi && from < to))
		return true;
	return hl_walk_vouch(w, from, to);
}

hl_inline uintptr_t hl_word(uintptr_t addr)
{
	return *(const uintptr_t *)addr;
}

#endif
