/*
 * step.h - x86_64: a rule of 28 bits, and one step up the stack by it.
 *
 * bits 0-2 kind, 3-11 field, 12-27 a signed offset in words.
 *   SP, FP   CFA = rsp or rbp + offset; field k: rbp saved k words below the CFA, 0: kept
 *   DRAP     CFA = the word at rbp + offset; field 1: rbp saved where rbp points, 0: kept
 *   SIGNAL   the ucontext lies at rsp
 *   END      the return address is undefined: nobody called this
 *   NO_CFI   no table: the frame pointer may help; field 1: not in any object either
 *   GENERAL  anything else
 *   SP_FAR   as SP, for frames of over a page: a damaged table could lead us off the stack by these
 * The return address lies one word below the CFA in all rules that have one.
 */
#ifndef HL_RECORD_ARCH_X86_64_STEP_H
#define HL_RECORD_ARCH_X86_64_STEP_H

#include "record/arch/cfi.h"
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
#define HL_RULE_BITS     28
#define HL_RULE_NO_TABLE (HL_RULE_NO_CFI)           /* in an object that has no table for this pc */
#define HL_RULE_UNKNOWN  (HL_RULE_NO_CFI | 1u << 3) /* in no object: may change at any time */
#define HL_RULE_FULL     (HL_RULE_GENERAL)
#define HL_RULE_STOP     (HL_RULE_END)

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

/* The rule for what the table says. */
uint32_t hl_arch_rule(const struct hl_cfi_shape *shape);
/* Any kind, with all questions asked. As hl_arch_step(), on w->r. */
enum hl_step_end hl_arch_step_slow(struct hl_walk *w, uint32_t rule, struct hl_step *s);
/* Code without a table: follow the frame pointer if all that it shows is plausible. */
enum hl_step_end hl_arch_step_fp(struct hl_walk *w, struct hl_step *s);

/* By a CFA that is known and may be read. */
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
	return HL_STEP_ON;
}

/*
 * From r to the frame that called it; r is left alone unless the step goes ON. r is apart from w so
 * that a loop can keep it in machine registers: the chain of loads is what a walk waits for.
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
