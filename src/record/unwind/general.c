/*
 * general.c - the steps that need more registers than a walk carries: an interpreter of whole rows.
 *
 * A walk knows pc, sp and the frame pointer only. When a rule wants another register (a CFA in rbx,
 * a frame larger than a rule can say, an expression that reads memory) this starts anew in our own
 * code, where all registers are at hand, and goes out row by row to the frame in question. Exact,
 * and slow: about a microsecond per frame. It is met in the dynamic linker's resolver and little
 * else.
 */
#include "base/bits.h"
#include "record/unwind/cfi_internal.h"
#include "record/unwind/full_internal.h"

#define OWN_STACK (64 * 1024)

struct file {
	uintptr_t v[HL_ARCH_REGISTERS];
	struct hl_walk w; /* what may be read; its registers are kept in step with v */
};

static void to_walk(struct file *f)
{
	f->w.r = (struct hl_regs){
		.pc = f->v[HL_ARCH_DW_PC], .sp = f->v[HL_ARCH_DW_SP], .fp = f->v[HL_ARCH_DW_FP]};
}

static bool read_word(struct file *f, uintptr_t addr, uintptr_t *word)
{
	if (!hl_walk_may_read(&f->w, addr, addr + sizeof(*word)))
		return false;
	*word = hl_word(addr);
	return true;
}

static bool find_cfa(
	struct file *f, const struct hl_object *o, const struct hl_cfi_row *row, uintptr_t *cfa)
{
	if (row->cfa_how == HL_ROW_EXPR)
		return hl_cfi_eval(hl_cfi_expr(o, row->cfa_value), f->v, &f->w, NULL, cfa);
	*cfa = f->v[row->cfa_register] + (uintptr_t)(intptr_t)row->cfa_value;
	/* Trusted, as in hl_arch_step(). */
	if (row->cfa_register == HL_ARCH_DW_SP && !f->w.careful && row->cfa_value > 0)
		f->w.hi = hl_max_u64(f->w.hi, hl_align_up(*cfa, HL_PAGE));
	return true;
}

static bool find_reg(struct file *f, const struct hl_object *o, const struct hl_cfi_row *row,
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
	default: /* same, and undefined: whoever needs it outside has another way to know it */
		*out = reg == HL_ARCH_DW_SP ? cfa : f->v[reg];
		return true;
	}
}

static enum hl_step_end apply(
	struct file *f, const struct hl_object *o, const struct hl_cfi_row *row, bool signal_frame)
{
	uintptr_t cfa, next[HL_ARCH_REGISTERS];

	if (row->how[HL_ARCH_DW_PC] == HL_ROW_UNDEF)
		return HL_STEP_END;
	if (!find_cfa(f, o, row, &cfa))
		return HL_STEP_CUT;
	for (unsigned reg = 0; reg < HL_ARCH_REGISTERS; reg++) {
		if (!find_reg(f, o, row, reg, cfa, &next[reg]))
			return HL_STEP_CUT;
	}
	if (!next[HL_ARCH_DW_PC])
		return HL_STEP_END;
	if (signal_frame)
		hl_walk_hop(&f->w, next[HL_ARCH_DW_SP]);
	for (unsigned reg = 0; reg < HL_ARCH_REGISTERS; reg++)
		f->v[reg] = next[reg];
	to_walk(f);
	f->w.exact = signal_frame;
	f->w.careful = signal_frame || f->w.guessed;
	return HL_STEP_ON;
}

static enum hl_step_end step_by_frame_pointer(struct file *f)
{
	struct hl_step s;
	enum hl_step_end end = hl_arch_step_fp(&f->w, &s);

	f->v[HL_ARCH_DW_PC] = f->w.r.pc;
	f->v[HL_ARCH_DW_SP] = f->w.r.sp;
	f->v[HL_ARCH_DW_FP] = f->w.r.fp;
	return end;
}

static hl_noinline enum hl_step_end step_file(struct file *f)
{
	uintptr_t pc = f->w.r.pc - !f->w.exact;
	struct hl_object o;
	struct hl_cfi_entry e;
	struct hl_cfi_row row;

	if (!hl_object_find(pc, &o))
		return step_by_frame_pointer(f);
	if (!hl_cfi_find(&o, pc, &e) || !hl_cfi_row(&o, &e, pc, &row))
		return !f->w.exact && hl_cfi_starts(&o, pc + 1) ? HL_STEP_END
								: step_by_frame_pointer(f);
	return apply(f, &o, &row, e.signal_frame);
}

hl_cold enum hl_step_end hl_walk_general(struct hl_walk *w, struct hl_step *s)
{
	struct file f = {0};
	enum hl_step_end end = HL_STEP_ON;
	struct hl_regs here;

	*s = (struct hl_step){.flags = HL_STEP_USES_FP | HL_STEP_SPECIAL};
	HL_ARCH_CAPTURE_ALL(f.v);
	here = (struct hl_regs){.sp = f.v[HL_ARCH_DW_SP]};
	hl_walk_init(&f.w, &here);
	to_walk(&f);
	f.w.exact = true; /* the captured pc is that of an instruction, not of a return */
	/* Between here and the hook's caller lies nothing but our own frames. */
	if (w->start->sp - f.w.r.sp < OWN_STACK)
		f.w.hi = hl_align_up(w->start->sp, HL_PAGE);
	for (unsigned n = 0; end == HL_STEP_ON && n < HL_FRAMES_MAX; n++) {
		if (f.w.r.sp == w->r.sp && f.w.r.pc == w->r.pc && f.w.exact == w->exact)
			break;
		end = step_file(&f);
	}
	if (end != HL_STEP_ON)
		return HL_STEP_CUT; /* the frame is not one of this stack */
	end = step_file(&f);
	if (end != HL_STEP_ON)
		return end;
	if (f.w.segment_end && !w->segment_end)
		w->segment_end = f.w.segment_end;
	w->r = f.w.r;
	w->exact = f.w.exact;
	w->guessed = f.w.guessed;
	w->careful = f.w.careful;
	w->lo = f.w.lo;
	w->hi = f.w.hi;
	return HL_STEP_ON;
}
