/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_step.c - steps that need more registers than a walk has: an interpreter of full table rows.
 *
 * A walk has only pc, sp and the frame pointer. If a rule needs another register (a CFA in rbx, a
 * frame larger than a rule can represent, an expression that reads memory), this restarts in our
 * own code, where all registers are known, and steps outward row by row until it reaches the frame
 * in question. Exact but slow: about a microsecond per frame. It is needed in the resolver of the
 * dynamic linker and in few other places.
 */
#include "base/bits.h"
#include "record/unwind/cfi_internal.h"
#include "record/unwind/full_walk_internal.h"

#define OWN_STACK_MAX (64 * 1024)

struct registers {
	uintptr_t v[HL_ARCH_REGISTERS];
	struct hl_walk w; /* the readable range; its registers are copies of those in v */
};

static void sync_walk_regs(struct registers *f)
{
	f->w.r = (struct hl_regs){
		.pc = f->v[HL_ARCH_DW_PC], .sp = f->v[HL_ARCH_DW_SP], .fp = f->v[HL_ARCH_DW_FP]};
}

static bool read_word(struct registers *f, uintptr_t addr, uintptr_t *word)
{
	if (!hl_walk_may_read(&f->w, addr, addr + sizeof(*word)))
		return false;
	*word = hl_word(addr);
	return true;
}

static bool find_cfa(struct registers *f, const struct hl_object *o, const struct hl_cfi_row *row,
	uintptr_t *cfa)
{
	if (row->cfa_how == HL_ROW_EXPR)
		return hl_cfi_eval(hl_cfi_expr(o, row->cfa_value), f->v, &f->w, NULL, cfa);
	*cfa = f->v[row->cfa_register] + (uintptr_t)(intptr_t)row->cfa_value;
	/* Trusted without a probe, as in hl_arch_step(). */
	if (row->cfa_register == HL_ARCH_DW_SP && !f->w.careful && row->cfa_value > 0)
		f->w.hi = hl_max_u64(f->w.hi, hl_align_up(*cfa, HL_PAGE));
	return true;
}

static bool find_reg(struct registers *f, const struct hl_object *o, const struct hl_cfi_row *row,
	unsigned reg, uintptr_t cfa, uintptr_t *out)
{
	uintptr_t at;

	switch (row->how[reg]) {
	case HL_ROW_OFFSET:
		return read_word(f, cfa + (uintptr_t)(intptr_t)row->value[reg], out);
	case HL_ROW_VAL_OFFSET:
		*out = cfa + (uintptr_t)(intptr_t)row->value[reg];
		return true;
	case HL_ROW_REGISTER:
		if ((uint32_t)row->value[reg] >= HL_ARCH_REGISTERS)
			return false;
		*out = f->v[row->value[reg]];
		return true;
	case HL_ROW_EXPR:
		return hl_cfi_eval(hl_cfi_expr(o, row->value[reg]), f->v, &f->w, &cfa, &at) &&
		       read_word(f, at, out);
	case HL_ROW_VAL_EXPR:
		return hl_cfi_eval(hl_cfi_expr(o, row->value[reg]), f->v, &f->w, &cfa, out);
	default: /* same and undefined: a frame that needs the value can find it elsewhere */
		*out = reg == HL_ARCH_DW_SP ? cfa : f->v[reg];
		return true;
	}
}

static enum hl_step_end apply_row(struct registers *f, const struct hl_object *o,
	const struct hl_cfi_row *row, bool signal_frame)
{
	uintptr_t cfa, next[HL_ARCH_REGISTERS];

	if (row->how[HL_ARCH_DW_PC] == HL_ROW_UNDEF)
		return HL_STEP_END;
	if (!find_cfa(f, o, row, &cfa))
		return HL_STEP_TRUNCATED;
	for (unsigned reg = 0; reg < HL_ARCH_REGISTERS; reg++) {
		if (!find_reg(f, o, row, reg, cfa, &next[reg]))
			return HL_STEP_TRUNCATED;
	}
	if (!next[HL_ARCH_DW_PC])
		return HL_STEP_END;
	if (signal_frame)
		hl_walk_switch_stack(&f->w, next[HL_ARCH_DW_SP]);
	for (unsigned reg = 0; reg < HL_ARCH_REGISTERS; reg++)
		f->v[reg] = next[reg];
	sync_walk_regs(f);
	f->w.exact = signal_frame;
	f->w.careful = signal_frame || f->w.guessed;
	return HL_STEP_CONTINUE;
}

static enum hl_step_end step_by_frame_pointer(struct registers *f)
{
	struct hl_step s;
	enum hl_step_end end = hl_arch_step_fp(&f->w, &s);

	f->v[HL_ARCH_DW_PC] = f->w.r.pc;
	f->v[HL_ARCH_DW_SP] = f->w.r.sp;
	f->v[HL_ARCH_DW_FP] = f->w.r.fp;
	return end;
}

static hl_noinline enum hl_step_end step_registers(struct registers *f)
{
	uintptr_t pc = f->w.r.pc - !f->w.exact;
	struct hl_object o;
	struct hl_cfi_entry e;
	struct hl_cfi_row row;

	if (!hl_object_find(pc, &o))
		return step_by_frame_pointer(f);
	if (!hl_cfi_find(&o, pc, &e) || !hl_cfi_row(&o, &e, pc, &row))
		return !f->w.exact && hl_cfi_starts_function(&o, pc + 1) ? HL_STEP_END
									 : step_by_frame_pointer(f);
	return apply_row(f, &o, &row, e.signal_frame);
}

hl_cold enum hl_step_end hl_walk_slow_step(struct hl_walk *w, struct hl_step *s)
{
	struct registers f = {0};
	enum hl_step_end end = HL_STEP_CONTINUE;
	struct hl_regs here;

	*s = (struct hl_step){.flags = HL_STEP_USES_FP | HL_STEP_SPECIAL};
	HL_ARCH_CAPTURE_ALL(f.v);
	here = (struct hl_regs){.sp = f.v[HL_ARCH_DW_SP]};
	hl_walk_init(&f.w, &here);
	sync_walk_regs(&f);
	f.w.exact = true; /* the captured pc is that of an instruction, not a return address */
	/* Between this function and the caller of the hook there are only our own frames. */
	if (w->start->sp - f.w.r.sp < OWN_STACK_MAX)
		f.w.hi = hl_align_up(w->start->sp, HL_PAGE);
	for (unsigned n = 0; end == HL_STEP_CONTINUE && n < HL_FRAMES_MAX; n++) {
		if (f.w.r.sp == w->r.sp && f.w.r.pc == w->r.pc && f.w.exact == w->exact)
			break;
		end = step_registers(&f);
	}
	if (end != HL_STEP_CONTINUE)
		return HL_STEP_TRUNCATED; /* the frame is not on this stack */
	end = step_registers(&f);
	if (end != HL_STEP_CONTINUE)
		return end;
	if (f.w.segment_end && !w->segment_end)
		w->segment_end = f.w.segment_end;
	w->r = f.w.r;
	w->exact = f.w.exact;
	w->guessed = f.w.guessed;
	w->careful = f.w.careful;
	w->lo = f.w.lo;
	w->hi = f.w.hi;
	return HL_STEP_CONTINUE;
}
