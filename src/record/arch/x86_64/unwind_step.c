/*
 * unwind_step.c - x86_64: rules from what the tables say, and the steps that are rare.
 */
#include <dlfcn.h>

#include "base/bits.h"
#include "record/arch/x86_64/step.h"

/* The kernel's struct ucontext: 40 bytes, then gregs r8-r15 rdi rsi rbp rbx rdx rax rcx rsp rip. */
#define UCONTEXT_FP 120
#define UCONTEXT_SP 160
#define UCONTEXT_PC 168

static bool at_reg(const struct hl_cfi_place *p, unsigned reg, int64_t off)
{
	return p->where == HL_CFI_AT_REG && p->reg == reg && p->off == off;
}

static uint32_t make(unsigned kind, unsigned field, int64_t off)
{
	if (off % 8 || off / 8 > INT16_MAX || off / 8 < INT16_MIN || field > 511)
		return HL_RULE_FULL;
	return kind | field << 3 | (uint32_t)(uint16_t)(off / 8) << 12;
}

static uint32_t signal_rule(const struct hl_cfi_shape *s)
{
	if (at_reg(&s->cfa, HL_ARCH_DW_SP, UCONTEXT_SP) &&
		at_reg(&s->pc, HL_ARCH_DW_SP, UCONTEXT_PC) &&
		at_reg(&s->fp, HL_ARCH_DW_SP, UCONTEXT_FP))
		return make(HL_RULE_SIGNAL, 0, 0);
	return HL_RULE_FULL; /* not the kernel's layout, or not told in libc's words */
}

/* CFA = a register + off, the return address below it, rbp kept or saved among the pushes. */
static uint32_t plain_rule(const struct hl_cfi_shape *s, unsigned kind)
{
	if (s->fp.where == HL_CFI_KEPT || s->fp.where == HL_CFI_UNDEF)
		return make(kind, 0, s->cfa.off);
	if (s->fp.where != HL_CFI_AT_CFA || s->fp.off >= -8 || s->fp.off % 8)
		return HL_RULE_FULL;
	return make(kind, (unsigned)hl_min_u64((uint64_t)-s->fp.off / 8, 512), s->cfa.off);
}

uint32_t hl_arch_rule(const struct hl_cfi_shape *s)
{
	if (s->pc.where == HL_CFI_UNDEF)
		return make(HL_RULE_END, 0, 0);
	if (s->signal_frame)
		return signal_rule(s);
	if (s->pc.where != HL_CFI_AT_CFA || s->pc.off != -8 ||
		(s->sp.where != HL_CFI_KEPT && s->sp.where != HL_CFI_UNDEF))
		return HL_RULE_FULL;
	if (s->cfa.where == HL_CFI_REG && s->cfa.reg == HL_ARCH_DW_SP && s->cfa.off >= 8)
		return plain_rule(s, s->cfa.off > (int64_t)HL_PAGE ? HL_RULE_SP_FAR : HL_RULE_SP);
	if (s->cfa.where == HL_CFI_REG && s->cfa.reg == HL_ARCH_DW_FP)
		return plain_rule(s, HL_RULE_FP);
	if (s->cfa.where == HL_CFI_AT_REG && s->cfa.reg == HL_ARCH_DW_FP) {
		if (s->fp.where == HL_CFI_KEPT || at_reg(&s->fp, HL_ARCH_DW_FP, 0))
			return make(HL_RULE_DRAP, s->fp.where != HL_CFI_KEPT, s->cfa.off);
	}
	return HL_RULE_FULL;
}

/* A word we could not or must not read: the outcome may change without any word changing. */
static enum hl_step_end lost(struct hl_step *s, uint32_t flags)
{
	*s = (struct hl_step){.flags = flags | HL_STEP_SPECIAL};
	return HL_STEP_CUT;
}

/* At a frame that made a call. */
static void arrive(struct hl_walk *w)
{
	w->exact = false;
	w->careful = w->guessed;
}

static enum hl_step_end step_drap(struct hl_walk *w, uint32_t rule, struct hl_step *s)
{
	uintptr_t fp = w->r.fp, slot = fp + (uintptr_t)hl_rule_offset(rule), cfa, pc;

	if ((slot & 7) || !hl_walk_may_read(w, slot, slot + 8))
		return lost(s, HL_STEP_USES_FP);
	cfa = hl_word(slot);
	if (cfa <= w->r.sp || (cfa & 7) || !hl_walk_may_read(w, cfa - 8, cfa))
		return lost(s, HL_STEP_USES_FP);
	if (hl_rule_field(rule) && ((fp & 7) || !hl_walk_may_read(w, fp, fp + 8)))
		return lost(s, HL_STEP_USES_FP);
	pc = hl_word(cfa - 8);
	*s = (struct hl_step){.cfa_slot = slot,
		.cfa_word = cfa,
		.pc_slot = cfa - 8,
		.pc_word = pc,
		.flags = HL_STEP_CFA | HL_STEP_USES_FP | (w->strayed ? HL_STEP_SPECIAL : 0)};
	w->strayed = false;
	if (!pc)
		return HL_STEP_END;
	if (hl_rule_field(rule)) {
		s->fp_slot = fp;
		w->r.fp = hl_word(fp);
	}
	w->r.pc = pc;
	w->r.sp = cfa;
	arrive(w);
	return HL_STEP_ON;
}

/* The kernel wrote these words where the stack pointer points. */
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
		return HL_STEP_END; /* a call through a null pointer; what it pushed is anybody's
				       guess */
	hl_walk_hop(w, sp);
	w->r.fp = hl_word(uc + UCONTEXT_FP);
	w->r.pc = pc;
	w->r.sp = sp;
	w->exact = w->careful = true;
	return HL_STEP_ON;
}

/* Does an instruction that calls end at pc? The bytes before it must be readable. */
static bool after_call(uintptr_t pc)
{
	const uint8_t *p = (const uint8_t *)pc;

	if (p[-5] == 0xe8)
		return true;
	/* ff /2, with any addressing: opcode, ModRM, then SIB and displacement. */
	for (int len = 2; len <= 7; len++) {
		if (p[-len] == 0xff && (p[-len + 1] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/*
 * In an object a return address follows a call. Interpreters and JITs put addresses of their own
 * there, of which all that can be asked is that something lies there.
 */
static bool is_return_address(uintptr_t pc)
{
	struct dl_find_object found;

	if (pc < HL_PAGE || pc >> 47 || !hl_walk_probe(pc - 1))
		return false;
	if (_dl_find_object((void *)(pc - 1), &found) != 0)
		return true;
	return (((pc - 7) ^ (pc - 1)) < HL_PAGE || hl_walk_probe(pc - 7)) && after_call(pc);
}

/* How far up a frame may end that no table describes. Beyond, the frame pointer is something else.
 */
#define FP_FRAME (256 * 1024)

enum hl_step_end hl_arch_step_fp(struct hl_walk *w, struct hl_step *s)
{
	uintptr_t fp = w->r.fp, pc;

	if (fp < w->r.sp || (fp & 7) || fp - w->r.sp > FP_FRAME ||
		!hl_walk_may_read(w, fp, fp + 16))
		return lost(s, HL_STEP_USES_FP);
	w->strayed = false;
	pc = hl_word(fp + 8);
	*s = (struct hl_step){.pc_slot = fp + 8,
		.pc_word = pc,
		.fp_slot = fp,
		.flags = HL_STEP_USES_FP | HL_STEP_SPECIAL};
	if (!pc)
		return HL_STEP_END;
	if (pc != w->known_pc && !is_return_address(pc))
		return lost(s, HL_STEP_USES_FP);
	w->r.fp = hl_word(fp);
	w->r.pc = pc;
	w->r.sp = fp + 16;
	w->guessed = true;
	arrive(w);
	return HL_STEP_ON;
}

/* CFA = rsp or rbp + offset, where somebody must vouch for the memory. */
static enum hl_step_end step_plain(struct hl_walk *w, uint32_t rule, struct hl_step *s)
{
	bool by_fp = hl_rule_kind(rule) == HL_RULE_FP;
	unsigned saved = hl_rule_field(rule);
	uintptr_t cfa = (by_fp ? w->r.fp : w->r.sp) + (uintptr_t)hl_rule_offset(rule);
	uint32_t flags = by_fp ? HL_STEP_USES_FP : 0;
	enum hl_step_end end;
	/* Where nobody can be asked, a table that was right so far is believed. */
	bool trusted = !by_fp && !w->careful && !hl_walk_probes_allowed();

	if (cfa <= w->r.sp || (cfa & 7))
		return lost(s, flags);
	if (!trusted && !hl_walk_may_read(w, cfa - (saved ? saved : 1) * 8, cfa))
		return lost(s, flags);
	if (w->strayed)
		flags |= HL_STEP_SPECIAL;
	w->strayed = false;
	end = hl_arch_step_cfa(&w->r, rule, cfa, flags, s);
	if (end == HL_STEP_ON)
		arrive(w);
	return end;
}

hl_noinline enum hl_step_end hl_arch_step_slow(struct hl_walk *w, uint32_t rule, struct hl_step *s)
{
	switch (hl_rule_kind(rule)) {
	case HL_RULE_SP:
	case HL_RULE_SP_FAR:
	case HL_RULE_FP:
		return step_plain(w, rule, s);
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
