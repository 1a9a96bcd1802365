/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_run.c - runs the instructions of an .eh_frame entry up to a pc, which gives the row for that
 * pc.
 *
 * A row that cannot be represented (offsets beyond 2 GiB, more than SAVED_ROWS_MAX nested states)
 * is rejected, never approximated. Cost: 0.3 to 1 us, once per pc; half a KiB of stack.
 */
#include <limits.h>
#include <string.h>

#include "record/unwind/cfi_internal.h"

#define SAVED_ROWS_MAX 2 /* compilers nest one; each takes 92 bytes of stack */

struct run {
	const struct hl_object *object;
	const struct hl_cfi_entry *entry;
	struct hl_byte_reader b;
	uintptr_t loc, pc;
	bool refused;
	unsigned depth;
	struct hl_cfi_row *row; /* the result: every row takes 92 bytes of stack */
	struct hl_cfi_row initial, saved[SAVED_ROWS_MAX];
};

static void set_reg(struct run *r, uint64_t reg, enum hl_cfi_how how, int64_t value)
{
	if (reg >= HL_ARCH_REGISTERS)
		return; /* vector registers and similar: not needed */
	if (value > INT_MAX || value < INT_MIN)
		r->refused = true;
	r->row->how[reg] = (uint8_t)how;
	r->row->value[reg] = (int32_t)value;
}

static void set_cfa(struct run *r, uint64_t reg, int64_t off)
{
	if (reg >= HL_ARCH_REGISTERS || off > INT_MAX || off < INT_MIN)
		r->refused = true;
	r->row->cfa_how = HL_ROW_REGISTER;
	r->row->cfa_register = (uint8_t)reg;
	r->row->cfa_value = (int32_t)off;
}

static void set_cfa_offset(struct run *r, int64_t off)
{
	if (r->row->cfa_how != HL_ROW_REGISTER)
		r->refused = true;
	else
		set_cfa(r, r->row->cfa_register, off);
}

static void restore_reg(struct run *r, uint64_t reg)
{
	if (reg < HL_ARCH_REGISTERS) {
		r->row->how[reg] = r->initial.how[reg];
		r->row->value[reg] = r->initial.value[reg];
	}
}

/* Skips an expression. Returns the offset of its length. */
static int64_t skip_expr(struct run *r)
{
	int64_t at = (int64_t)((uintptr_t)r->b.p - r->object->low);

	hl_byte_reader_skip(&r->b, hl_byte_reader_uleb(&r->b));
	if (at > INT_MAX)
		r->refused = true;
	return at;
}

/* Wraps around as DWARF does, without a signed overflow. */
static int64_t scale_offset(const struct run *r, uint64_t n)
{
	return (int64_t)(n * (uint64_t)r->entry->data_align);
}

static void save_or_restore_row(struct run *r, bool save)
{
	if (save && r->depth < SAVED_ROWS_MAX)
		r->saved[r->depth++] = *r->row;
	else if (!save && r->depth > 0)
		*r->row = r->saved[--r->depth];
	else
		r->refused = true;
}

static void advance_loc(struct run *r, uint64_t n)
{
	r->loc += n * r->entry->code_align;
}

/* The instructions that define the rule of a register or of the CFA. */
static void run_definition(struct run *r, uint8_t op)
{
	struct hl_byte_reader *b = &r->b;
	uint64_t reg = op == 0x0e || op == 0x0f || op == 0x13 ? 0 : hl_byte_reader_uleb(b);

	switch (op) {
	case 0x05: /* offset_extended */
		return set_reg(r, reg, HL_ROW_OFFSET, scale_offset(r, hl_byte_reader_uleb(b)));
	case 0x06: /* restore_extended */
		return restore_reg(r, reg);
	case 0x07: /* undefined */
		return set_reg(r, reg, HL_ROW_UNDEF, 0);
	case 0x08: /* same_value */
		return set_reg(r, reg, HL_ROW_SAME, 0);
	case 0x09: /* register */
		return set_reg(r, reg, HL_ROW_REGISTER, (int64_t)hl_byte_reader_uleb(b));
	case 0x0c: /* def_cfa */
		return set_cfa(r, reg, (int64_t)hl_byte_reader_uleb(b));
	case 0x0d: /* def_cfa_register */
		if (r->row->cfa_how != HL_ROW_REGISTER)
			r->refused = true;
		return set_cfa(r, reg, r->row->cfa_value);
	case 0x0e: /* def_cfa_offset */
		return set_cfa_offset(r, (int64_t)hl_byte_reader_uleb(b));
	case 0x0f: /* def_cfa_expression */
		r->row->cfa_how = HL_ROW_EXPR;
		r->row->cfa_value = (int32_t)skip_expr(r);
		return;
	case 0x10: /* expression */
		return set_reg(r, reg, HL_ROW_EXPR, skip_expr(r));
	case 0x11: /* offset_extended_sf */
		return set_reg(
			r, reg, HL_ROW_OFFSET, scale_offset(r, (uint64_t)hl_byte_reader_sleb(b)));
	case 0x12: /* def_cfa_sf */
		return set_cfa(r, reg, scale_offset(r, (uint64_t)hl_byte_reader_sleb(b)));
	case 0x13: /* def_cfa_offset_sf */
		return set_cfa_offset(r, scale_offset(r, (uint64_t)hl_byte_reader_sleb(b)));
	case 0x14: /* val_offset */
		return set_reg(r, reg, HL_ROW_VAL_OFFSET, scale_offset(r, hl_byte_reader_uleb(b)));
	case 0x15: /* val_offset_sf */
		return set_reg(r, reg, HL_ROW_VAL_OFFSET,
			scale_offset(r, (uint64_t)hl_byte_reader_sleb(b)));
	case 0x16: /* val_expression */
		return set_reg(r, reg, HL_ROW_VAL_EXPR, skip_expr(r));
	case 0x2e: /* GNU_args_size: its operand was read as the register */
		return;
	case 0x2f: /* GNU_negative_offset_extended */
		return set_reg(r, reg, HL_ROW_OFFSET, -scale_offset(r, hl_byte_reader_uleb(b)));
	default:
		r->refused = true;
	}
}

static void run_instruction(struct run *r)
{
	struct hl_byte_reader *b = &r->b;
	uint8_t op = (uint8_t)hl_byte_reader_fixed(b, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case 0x40:
		return advance_loc(r, low);
	case 0x80:
		return set_reg(r, low, HL_ROW_OFFSET, scale_offset(r, hl_byte_reader_uleb(b)));
	case 0xc0:
		return restore_reg(r, low);
	}
	switch (op) {
	case 0x00: /* nop */
		return;
	case 0x01: /* set_loc */
		r->loc = hl_cfi_pointer(r->object, b, r->entry->encoding);
		return;
	case 0x02:
		return advance_loc(r, hl_byte_reader_fixed(b, 1));
	case 0x03:
		return advance_loc(r, hl_byte_reader_fixed(b, 2));
	case 0x04:
		return advance_loc(r, hl_byte_reader_fixed(b, 4));
	case 0x0a:
		return save_or_restore_row(r, true);
	case 0x0b:
		return save_or_restore_row(r, false);
	default:
		return run_definition(r, op);
	}
}

static bool run_program(struct run *r, struct hl_byte_reader program)
{
	r->b = program;
	while (r->b.p < r->b.end && r->loc <= r->pc && !r->b.bad && !r->refused)
		run_instruction(r);
	return !r->b.bad && !r->refused;
}

hl_cold bool hl_cfi_row(const struct hl_object *o, const struct hl_cfi_entry *e, uintptr_t pc,
	struct hl_cfi_row *row)
{
	struct run r;

	/* r.saved needs no initialization: it is written before it is read. */
	r.object = o;
	r.entry = e;
	r.loc = e->begin;
	r.pc = pc - o->shift;
	r.refused = false;
	r.depth = 0;
	r.row = row;
	memset(row, 0, sizeof(*row));
	memset(&r.initial, 0, sizeof(r.initial));
	row->cfa_how = HL_ROW_UNDEF;
	if (!run_program(&r, e->common))
		return false;
	r.initial = *row;
	r.loc = e->begin;
	if (!run_program(&r, e->own))
		return false;
	return row->cfa_how != HL_ROW_UNDEF;
}

struct hl_byte_reader hl_cfi_expr(const struct hl_object *o, int32_t at)
{
	struct hl_byte_reader b = {
		.p = (const uint8_t *)o->low + at, .end = (const uint8_t *)o->high};
	uint64_t length = hl_byte_reader_uleb(&b);
	struct hl_byte_reader expr = b;

	hl_byte_reader_skip(&b, length);
	expr.bad = b.bad;
	expr.end = b.p;
	return expr;
}
