/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_step.c - x86_64: compiles table rows to rules, and makes the steps that are rare.
 */
#include <dlfcn.h>

#include "base/bits.h"
#include "record/arch/x86_64/step.h"

/* The kernel's struct ucontext: 40 bytes, then gregs r8-r15 rdi rsi rbp rbx rdx rax rcx rsp rip. */
#define UCONTEXT_FP 120
#define UCONTEXT_SP 160
#define UCONTEXT_PC 168

static bool is_saved_at_reg(const struct hl_cfi_place *p, unsigned reg, int64_t off)
{
	return p->where == HL_CFI_AT_REG && p->reg == reg && p->off == off;
}

static uint32_t make_rule(unsigned kind, unsigned field, int64_t off)
{
	if (off % 8 || off / 8 > INT16_MAX || off / 8 < INT16_MIN || field > 511)
		return HL_RULE_NEEDS_ALL_REGS;
	return kind | field << 3 | (uint32_t)(uint16_t)(off / 8) << 12;
}

static uint32_t make_signal_rule(const struct hl_cfi_shape *s)
{
	if (is_saved_at_reg(&s->cfa, HL_ARCH_DW_SP, UCONTEXT_SP) &&
		is_saved_at_reg(&s->pc, HL_ARCH_DW_SP, UCONTEXT_PC) &&
		is_saved_at_reg(&s->fp, HL_ARCH_DW_SP, UCONTEXT_FP))
		return make_rule(HL_RULE_SIGNAL, 0, 0);
	return HL_RULE_NEEDS_ALL_REGS; /* not the layout of the kernel, or not encoded as in libc */
}

/* CFA = register + off, the return address below it, rbp not saved or saved among the pushes. */
static uint32_t make_cfa_rule(const struct hl_cfi_shape *s, unsigned kind)
{
	if (s->fp.where == HL_CFI_UNCHANGED || s->fp.where == HL_CFI_UNDEF)
		return make_rule(kind, 0, s->cfa.off);
	if (s->fp.where != HL_CFI_AT_CFA || s->fp.off >= -8 || s->fp.off % 8)
		return HL_RULE_NEEDS_ALL_REGS;
	return make_rule(kind, (unsigned)hl_min_u64((uint64_t)-s->fp.off / 8, 512), s->cfa.off);
}

uint32_t hl_arch_rule(const struct hl_cfi_shape *s)
{
	if (s->pc.where == HL_CFI_UNDEF)
		return make_rule(HL_RULE_END, 0, 0);
	if (s->signal_frame)
		return make_signal_rule(s);
	if (s->pc.where != HL_CFI_AT_CFA || s->pc.off != -8 ||
		(s->sp.where != HL_CFI_UNCHANGED && s->sp.where != HL_CFI_UNDEF))
		return HL_RULE_NEEDS_ALL_REGS;
	if (s->cfa.where == HL_CFI_REG && s->cfa.reg == HL_ARCH_DW_SP && s->cfa.off >= 8)
		return make_cfa_rule(
			s, s->cfa.off > (int64_t)HL_PAGE ? HL_RULE_SP_FAR : HL_RULE_SP);
	if (s->cfa.where == HL_CFI_REG && s->cfa.reg == HL_ARCH_DW_FP)
		return make_cfa_rule(s, HL_RULE_FP);
	if (s->cfa.where == HL_CFI_AT_REG && s->cfa.reg == HL_ARCH_DW_FP) {
		if (s->fp.where == HL_CFI_UNCHANGED || is_saved_at_reg(&s->fp, HL_ARCH_DW_FP, 0))
			return make_rule(HL_RULE_DRAP, s->fp.where != HL_CFI_UNCHANGED, s->cfa.off);
	}
	return HL_RULE_NEEDS_ALL_REGS;
}

/*
 * A word could not or must not be read. The result may change although no word changes, so the step
 * is SPECIAL.
 */
static enum hl_step_end cut_step(struct hl_step *s, uint32_t flags)
{
	*s = (struct hl_step){.flags = flags | HL_STEP_SPECIAL};
	return HL_STEP_TRUNCATED;
}

/* The walk is at a frame that made a call. */
static void enter_calling_frame(struct hl_walk *w)
{
	w->exact = false;
	w->careful = w->guessed;
}

static enum hl_step_end step_drap(struct hl_walk *w, uint32_t rule, struct hl_step *s)
{
	uintptr_t fp = w->r.fp, slot = fp + (uintptr_t)hl_rule_offset(rule), cfa, pc;

	if ((slot & 7) || !hl_walk_may_read(w, slot, slot + 8))
		return cut_step(s, HL_STEP_USES_FP);
	cfa = hl_word(slot);
	if (cfa <= w->r.sp || (cfa & 7) || !hl_walk_may_read(w, cfa - 8, cfa))
		return cut_step(s, HL_STEP_USES_FP);
	if (hl_rule_field(rule) && ((fp & 7) || !hl_walk_may_read(w, fp, fp + 8)))
		return cut_step(s, HL_STEP_USES_FP);
	pc = hl_word(cfa - 8);
	*s = (struct hl_step){.cfa_slot = slot,
		.cfa_word = cfa,
		.pc_slot = cfa - 8,
		.pc_word = pc,
		.flags = HL_STEP_CFA | HL_STEP_USES_FP | (w->disjoint ? HL_STEP_SPECIAL : 0)};
	w->disjoint = false;
	if (!pc)
		return HL_STEP_END;
	if (hl_rule_field(rule)) {
		s->fp_slot = fp;
		w->r.fp = hl_word(fp);
	}
	w->r.pc = pc;
	w->r.sp = cfa;
	enter_calling_frame(w);
	return HL_STEP_CONTINUE;
}

/* The kernel wrote these words at the stack pointer. */
static enum hl_step_end step_signal(struct hl_walk *w, struct hl_step *s)
{
	uintptr_t uc = w->r.sp, sp = hl_word(uc + UCONTEXT_SP), pc = hl_word(uc + UCONTEXT_PC);

	*s = (struct hl_step){.cfa_slot = uc + UCONTEXT_SP,
		.cfa_word = sp,
		.pc_slot = uc + UCONTEXT_PC,
		.pc_word = pc,
		.fp_slot = uc + UCONTEXT_FP,
		.flags = HL_STEP_CFA};
	if (!pc)
		return HL_STEP_END; /* a call through a null pointer; its stack slot is unknown */
	hl_walk_switch_stack(w, sp);
	w->r.fp = hl_word(uc + UCONTEXT_FP);
	w->r.pc = pc;
	w->r.sp = sp;
	w->exact = w->careful = true;
	return HL_STEP_CONTINUE;
}

/* Does a call instruction end at pc? The bytes before pc must be readable. */
static bool follows_call(uintptr_t pc)
{
	const uint8_t *p = (const uint8_t *)pc;

	if (p[-5] == 0xe8)
		return true;
	/* ff /2 with any addressing mode: opcode, ModRM, then SIB and displacement. */
	for (int len = 2; len <= 7; len++) {
		if (p[-len] == 0xff && (p[-len + 1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/*
 * In an object, a return address follows a call instruction. Interpreters and JIT compilers store
 * other addresses; of these only readability can be required.
 */
static bool is_return_address(uintptr_t pc)
{
	struct dl_find_object found;

	if (pc < HL_PAGE || pc >> 47 || !hl_walk_probe(pc - 1))
		return false;
	if (_dl_find_object((void *)(pc - 1), &found) != 0)
		return true;
	return (((pc - 7) ^ (pc - 1)) < HL_PAGE || hl_walk_probe(pc - 7)) && follows_call(pc);
}

/*
 * The largest frame that is accepted without an unwind table. A frame pointer farther away is used
 * for something else.
 */
#define FP_FRAME_MAX (256 * 1024)

enum hl_step_end hl_arch_step_fp(struct hl_walk *w, struct hl_step *s)
{
	uintptr_t fp = w->r.fp, pc;

	if (fp < w->r.sp || (fp & 7) || fp - w->r.sp > FP_FRAME_MAX ||
		!hl_walk_may_read(w, fp, fp + 16))
		return cut_step(s, HL_STEP_USES_FP);
	w->disjoint = false;
	pc = hl_word(fp + 8);
	*s = (struct hl_step){.pc_slot = fp + 8,
		.pc_word = pc,
		.fp_slot = fp,
		.flags = HL_STEP_USES_FP | HL_STEP_SPECIAL};
	if (!pc)
		return HL_STEP_END;
	if (pc != w->known_pc && !is_return_address(pc))
		return cut_step(s, HL_STEP_USES_FP);
	w->r.fp = hl_word(fp);
	w->r.pc = pc;
	w->r.sp = fp + 16;
	w->guessed = true;
	enter_calling_frame(w);
	return HL_STEP_CONTINUE;
}

/* CFA = rsp or rbp + offset, where the memory must be checked. */
static enum hl_step_end step_checked(struct hl_walk *w, uint32_t rule, struct hl_step *s)
{
	bool by_fp = hl_rule_kind(rule) == HL_RULE_FP;
	unsigned saved = hl_rule_field(rule);
	uintptr_t cfa = (by_fp ? w->r.fp : w->r.sp) + (uintptr_t)hl_rule_offset(rule);
	uint32_t flags = by_fp ? HL_STEP_USES_FP : 0;
	enum hl_step_end end;
	/* Where probes are forbidden, a table that was right so far is trusted. */
	bool trusted = !by_fp && !w->careful && !hl_walk_probes_allowed();

	if (cfa <= w->r.sp || (cfa & 7))
		return cut_step(s, flags);
	if (!trusted && !hl_walk_may_read(w, cfa - (saved ? saved : 1) * 8, cfa))
		return cut_step(s, flags);
	if (w->disjoint)
		flags |= HL_STEP_SPECIAL;
	w->disjoint = false;
	end = hl_arch_step_cfa(&w->r, rule, cfa, flags, s);
	if (end == HL_STEP_CONTINUE)
		enter_calling_frame(w);
	return end;
}

hl_noinline enum hl_step_end hl_arch_step_slow(struct hl_walk *w, uint32_t rule, struct hl_step *s)
{
	switch (hl_rule_kind(rule)) {
	case HL_RULE_SP:
	case HL_RULE_SP_FAR:
	case HL_RULE_FP:
		return step_checked(w, rule, s);
	case HL_RULE_DRAP:
		return step_drap(w, rule, s);
	case HL_RULE_SIGNAL:
		return step_signal(w, s);
	case HL_RULE_END:
		*s = (struct hl_step){0};
		return HL_STEP_END;
	case HL_RULE_NO_CFI:
		return hl_arch_step_fp(w, s);
	default:
		*s = (struct hl_step){.flags = HL_STEP_USES_FP | HL_STEP_SPECIAL};
		return HL_STEP_GENERAL;
	}
}
