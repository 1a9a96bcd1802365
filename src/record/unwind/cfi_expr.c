/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_expr.c - DWARF expressions, the subset that unwind tables use. Bounded: at most STEPS_MAX
 * operations and a stack of STACK_MAX words. Only memory that the walk may read is read.
 */
#include "record/unwind/cfi_internal.h"

#define STACK_MAX 16
#define STEPS_MAX 256

struct eval {
	struct hl_byte_reader b;
	const uint8_t *start;
	const uintptr_t *regs;
	struct hl_walk *w;
	bool failed;
	unsigned depth;
	uintptr_t stack[STACK_MAX];
};

static void push(struct eval *v, uintptr_t x)
{
	if (v->depth == STACK_MAX)
		v->failed = true;
	else
		v->stack[v->depth++] = x;
}

static uintptr_t pop(struct eval *v)
{
	if (v->depth == 0) {
		v->failed = true;
		return 0;
	}
	return v->stack[--v->depth];
}

static void push_copy(struct eval *v, unsigned n)
{
	if (n >= v->depth)
		v->failed = true;
	else
		push(v, v->stack[v->depth - 1 - n]);
}

static void push_reg(struct eval *v, uint64_t reg)
{
	int64_t off = hl_byte_reader_sleb(&v->b);

	if (reg >= HL_ARCH_REGISTERS)
		v->failed = true;
	else
		push(v, v->regs[reg] + (uintptr_t)off);
}

static void deref(struct eval *v, unsigned size)
{
	uintptr_t addr = pop(v), word = 0;

	if (v->failed || !v->w || size == 0 || size > sizeof(word) ||
		!hl_walk_may_read(v->w, addr, addr + size)) {
		v->failed = true;
		return;
	}
	__builtin_memcpy(&word, (const void *)addr, size);
	push(v, word);
}

static void jump(struct eval *v, bool taken)
{
	int16_t by = (int16_t)hl_byte_reader_fixed(&v->b, 2);

	if (!taken || v->b.bad)
		return;
	if (by < v->start - v->b.p || by > v->b.end - v->b.p)
		v->failed = true;
	else
		v->b.p += by;
}

static void push_constant(struct eval *v, uint8_t op)
{
	static const uint8_t size[] = {1, 1, 2, 2, 4, 4, 8, 8};
	unsigned n;
	uint64_t x;

	if (op == 0x10)
		return push(v, (uintptr_t)hl_byte_reader_uleb(&v->b));
	if (op == 0x11)
		return push(v, (uintptr_t)hl_byte_reader_sleb(&v->b));
	n = op == 0x03 ? sizeof(uintptr_t) : size[op - 0x08];
	x = hl_byte_reader_fixed(&v->b, n);
	if (op != 0x03 && (op & 1) && n < 8) /* the odd ones are signed */
		x = (uint64_t)((int64_t)(x << (64 - 8 * n)) >> (64 - 8 * n));
	push(v, (uintptr_t)x);
}

static void apply_unary(struct eval *v, uint8_t op)
{
	uintptr_t a = pop(v);

	switch (op) {
	case 0x19:
		return push(v, (intptr_t)a < 0 ? -a : a);
	case 0x1f:
		return push(v, -a);
	case 0x20:
		return push(v, ~a);
	default:
		return push(v, a + (uintptr_t)hl_byte_reader_uleb(&v->b)); /* plus_uconst */
	}
}

static void divide(struct eval *v, uint8_t op, uintptr_t a, uintptr_t b)
{
	if (b == 0 || (op == 0x1b && b == (uintptr_t)-1))
		v->failed = true; /* division by -1 may overflow; no compiler emits it */
	else if (op == 0x1b)
		push(v, (uintptr_t)((intptr_t)a / (intptr_t)b));
	else
		push(v, a % b);
}

static void apply_binary(struct eval *v, uint8_t op)
{
	uintptr_t b = pop(v), a = pop(v);
	intptr_t sa = (intptr_t)a, sb = (intptr_t)b;
	bool fits = b < 8 * sizeof(a);

	switch (op) {
	case 0x1a:
		return push(v, a & b);
	case 0x1b:
	case 0x1d:
		return divide(v, op, a, b);
	case 0x1c:
		return push(v, a - b);
	case 0x1e:
		return push(v, a * b);
	case 0x21:
		return push(v, a | b);
	case 0x22:
		return push(v, a + b);
	case 0x24:
		return push(v, fits ? a << b : 0);
	case 0x25:
		return push(v, fits ? a >> b : 0);
	case 0x26:
		return push(v, (uintptr_t)(sa >> (fits ? b : 63)));
	case 0x27:
		return push(v, a ^ b);
	case 0x29:
		return push(v, sa == sb);
	case 0x2a:
		return push(v, sa >= sb);
	case 0x2b:
		return push(v, sa > sb);
	case 0x2c:
		return push(v, sa <= sb);
	case 0x2d:
		return push(v, sa < sb);
	case 0x2e:
		return push(v, sa != sb);
	default:
		v->failed = true;
	}
}

static void apply_stack_op(struct eval *v, uint8_t op)
{
	uintptr_t a, b, c;

	switch (op) {
	case 0x12:
		return push_copy(v, 0);
	case 0x13:
		pop(v);
		return;
	case 0x14:
		return push_copy(v, 1);
	case 0x15:
		return push_copy(v, (unsigned)hl_byte_reader_fixed(&v->b, 1));
	case 0x16:
		a = pop(v), b = pop(v);
		push(v, a);
		return push(v, b);
	default: /* rot */
		a = pop(v), b = pop(v), c = pop(v);
		push(v, a);
		push(v, c);
		return push(v, b);
	}
}

static void run_operation(struct eval *v)
{
	uint8_t op = (uint8_t)hl_byte_reader_fixed(&v->b, 1);

	if (op == 0x03 || (op >= 0x08 && op <= 0x11))
		push_constant(v, op);
	else if (op == 0x06)
		deref(v, sizeof(uintptr_t));
	else if (op == 0x94)
		deref(v, (unsigned)hl_byte_reader_fixed(&v->b, 1));
	else if (op >= 0x12 && op <= 0x17)
		apply_stack_op(v, op);
	else if (op == 0x19 || op == 0x1f || op == 0x20 || op == 0x23)
		apply_unary(v, op);
	else if (op == 0x28)
		jump(v, pop(v) != 0);
	else if (op == 0x2f)
		jump(v, true);
	else if (op >= 0x1a && op <= 0x2e)
		apply_binary(v, op);
	else if (op >= 0x30 && op <= 0x4f)
		push(v, op - 0x30u);
	else if (op >= 0x70 && op <= 0x8f)
		push_reg(v, op - 0x70u);
	else if (op == 0x92)
		push_reg(v, hl_byte_reader_uleb(&v->b));
	else if (op != 0x96) /* nop */
		v->failed = true;
}

hl_cold bool hl_cfi_eval(struct hl_byte_reader expr, const uintptr_t regs[HL_ARCH_REGISTERS],
	struct hl_walk *w, const uintptr_t *initial, uintptr_t *result)
{
	struct eval v = {.b = expr, .start = expr.p, .regs = regs, .w = w};
	unsigned steps = 0;

	if (initial)
		push(&v, *initial);
	while (v.b.p < v.b.end && !v.failed && !v.b.bad) {
		if (++steps > STEPS_MAX)
			return false;
		run_operation(&v);
	}
	*result = pop(&v);
	return !v.failed && !v.b.bad;
}
