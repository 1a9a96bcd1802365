/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - x86_64: rules of 28 bits, and one step to the caller's frame.
 *
 * A rule: bits 0-2 kind, 3-11 field, 12-27 a signed offset in words.
 *   SP, FP   CFA = rsp or rbp + offset; field k: rbp saved k words below the CFA, 0: not saved
 *   DRAP     CFA = the word at rbp + offset; field 1: rbp saved at (rbp), 0: not saved
 *   SIGNAL   a signal frame: the ucontext is at rsp
 *   END      the return address is undefined: the outermost frame
 *   NO_CFI   no unwind table: the frame pointer may help; field 1: not in any object either
 *   GENERAL  everything else
 *   SP_FAR   as SP, for frames of more than a page. A damaged table could lead off the stack by
 *            such an offset, so the memory is checked
 * The return address is one word below the CFA in all rules that have one.
 */
#ifndef HL_RECORD_ARCH_X86_64_STEP_H
#define HL_RECORD_ARCH_X86_64_STEP_H

#include "record/arch/cfi_row.h"
#include "record/arch/walk.h"

enum {
	HL_RULE_SP,
	HL_RULE_FP,
	HL_RULE_DRAP,
	HL_RULE_SIGNAL,
	HL_RULE_END,
	HL_RULE_NO_CFI,
	HL_RULE_GENERAL,
	HL_RULE_SP_FAR
};
#define HL_RULE_BITS           28
#define HL_RULE_NO_TABLE       (HL_RULE_NO_CFI) /* in an object that has no table for this pc */
#define HL_RULE_UNKNOWN        (HL_RULE_NO_CFI | 1u << 3) /* in no object: may change at any time */
#define HL_RULE_NEEDS_ALL_REGS (HL_RULE_GENERAL)
#define HL_RULE_STOP           (HL_RULE_END)

hl_inline unsigned hl_rule_kind(uint32_t rule)
{
	return rule & 7;
}

hl_inline unsigned hl_rule_field(uint32_t rule)
{
	return (rule >> 3) & 511;
}

hl_inline intptr_t hl_rule_offset(uint32_t rule)
{
	return ((intptr_t)((int32_t)(rule << 4) >> 16)) * 8;
}

/* Compiles a table row to a rule. */
uint32_t hl_arch_rule(const struct hl_cfi_shape *shape);
/* A step by any kind of rule, with all checks. As hl_arch_step(), on w->r. */
enum hl_step_end hl_arch_step_slow(struct hl_walk *w, uint32_t rule, struct hl_step *s);
/*
 * A step out of code without an unwind table: follows the frame pointer if everything it leads to
 * is plausible.
 */
enum hl_step_end hl_arch_step_fp(struct hl_walk *w, struct hl_step *s);

/* A step with a known CFA whose memory may be read. */
hl_inline enum hl_step_end hl_arch_step_cfa(
	struct hl_regs *r, uint32_t rule, uintptr_t cfa, uint32_t flags, struct hl_step *s)
{
	unsigned saved = hl_rule_field(rule);
	uintptr_t pc = hl_word(cfa - 8);

	s->pc_slot = cfa - 8;
	s->pc_word = pc;
	s->fp_slot = saved ? cfa - saved * 8 : 0;
	s->flags = flags;
	if (hl_unlikely(!pc))
		return HL_STEP_END;
	if (saved)
		r->fp = hl_word(cfa - saved * 8);
	r->pc = pc;
	r->sp = cfa;
	return HL_STEP_CONTINUE;
}

/*
 * Steps from r to the frame that called it. r changes only if the result is HL_STEP_CONTINUE. r is
 * separate from w so that a loop can keep it in machine registers: the chain of dependent loads
 * limits the speed of a walk.
 */
hl_inline enum hl_step_end hl_arch_step(
	struct hl_walk *w, struct hl_regs *r, uint32_t rule, struct hl_step *s)
{
	unsigned kind = hl_rule_kind(rule), saved = hl_rule_field(rule);
	uintptr_t cfa = (uintptr_t)hl_rule_offset(rule);
	enum hl_step_end end;

	if (hl_likely(kind == HL_RULE_SP && !w->careful))
		return hl_arch_step_cfa(r, rule, cfa + r->sp, 0, s);
	cfa += r->fp;
	if (hl_likely(kind == HL_RULE_FP && cfa > r->sp && !(cfa & 7) && cfa <= w->hi &&
		      cfa - (saved | 1) * 8 >= w->lo && !w->exact))
		return hl_arch_step_cfa(r, rule, cfa, HL_STEP_USES_FP, s);
	w->r = *r;
	end = hl_arch_step_slow(w, rule, s);
	*r = w->r;
	return end;
}

#endif
