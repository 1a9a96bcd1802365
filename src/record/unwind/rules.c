/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - the table of rules, and how rules are compiled.
 *
 * The table is in zeroed memory of the library: 1 MiB, of which only pages in use are touched. The
 * 4 generation bits of an entry last for 15 generations; the table is cleared before they repeat.
 */
#include "record/unwind/cfi_internal.h"
#include "record/unwind/rules_internal.h"

#define ANNOUNCED_MAX 1024 /* more modules than this: some are announced twice */

_Alignas(64) _Atomic uint64_t hl_rule_table[HL_RULE_SETS][2];
_Atomic uint64_t hl_rule_generation;

static _Atomic(hl_unwind_module_fn) module_fn;
static _Atomic uint64_t announced[ANNOUNCED_MAX]; /* its start | generation bits */

int hl_unwind_init(hl_unwind_module_fn on_module)
{
	hl_tables_note_objects();
	atomic_store_explicit(&module_fn, on_module, memory_order_release);
	return 0;
}

void hl_unwind_forbid_syscalls(bool forbidden)
{
	hl_walk_forbid_probes(forbidden);
}

static void clear_table(void)
{
	for (uint32_t i = 0; i < HL_RULE_SETS; i++) {
		for (int way = 0; way < 2; way++) {
			/* Pages that were never touched stay so. */
			if (atomic_load_explicit(&hl_rule_table[i][way], memory_order_relaxed))
				atomic_store_explicit(
					&hl_rule_table[i][way], 0, memory_order_relaxed);
		}
	}
}

static void clear_announced(void)
{
	for (uint32_t i = 0; i < ANNOUNCED_MAX; i++)
		atomic_store_explicit(&announced[i], 0, memory_order_relaxed);
}

void hl_unwind_unload_begin(void)
{
	atomic_fetch_add(&hl_rule_generation, 1);
}

void hl_unwind_unload_end(void)
{
	uint64_t now = hl_generation();

	do {
		/* The generation bits repeat with the next generation. */
		if ((now / (HL_UNLOADS_MASK + 1) + 1) % 15 == 0) {
			clear_table();
			clear_announced();
		}
	} while (!atomic_compare_exchange_weak(&hl_rule_generation, &now, now + HL_UNLOADS_MASK));
}

void hl_unwind_bump(void)
{
	hl_unwind_unload_begin();
	hl_unwind_unload_end();
}

bool hl_unwind_unloading(void)
{
	return !hl_generation_settled(hl_generation());
}

void hl_unwind_keep_unloads(uint32_t n)
{
	atomic_store(&hl_rule_generation, (hl_generation() & ~HL_UNLOADS_MASK) + n + 1);
	hl_unwind_unload_end(); /* ends all other unloads at once */
}

/*
 * Announces the module before any of its rules is stored: a thread that finds a rule may assume
 * that the module is announced.
 */
static void announce_module(const struct hl_unwind_module *module, uint64_t generation)
{
	hl_unwind_module_fn fn = atomic_load_explicit(&module_fn, memory_order_acquire);
	uint64_t mark = (module->start & ~(uint64_t)0xfff) | hl_generation_bits(generation);
	_Atomic uint64_t *slot =
		&announced[(module->start >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> 54];

	if (!fn)
		return;
	if (!hl_generation_settled(generation)) {
		fn(module);
		return;
	}
	if (atomic_load_explicit(slot, memory_order_acquire) == mark)
		return;
	fn(module);
	atomic_store_explicit(slot, mark, memory_order_release);
}

static void store_rule(uintptr_t pc, bool exact, uint64_t generation, uint32_t rule)
{
	uint64_t h = (pc | (uint64_t)exact << 47) * HL_RULE_MUL, old;
	uint64_t want = (h << 16) >> 28 | hl_generation_bits(generation);
	_Atomic uint64_t *set = hl_rule_table[h >> 48];

	/* The code may have been unloaded while its table was read, or is being unloaded now. */
	if (pc >> 47 || !hl_generation_settled(generation) || hl_generation() != generation)
		return;
	old = atomic_load_explicit(&set[0], memory_order_relaxed);
	atomic_store_explicit(&set[0], want << HL_RULE_BITS | rule, memory_order_relaxed);
	if (old)
		atomic_store_explicit(&set[1], old, memory_order_relaxed);
}

/* Parses the expressions reg + off, and the word at reg + off. False: any other expression. */
static bool parse_simple_expr(struct hl_byte_reader b, struct hl_cfi_place *p, bool *deref)
{
	uint8_t op = (uint8_t)hl_byte_reader_fixed(&b, 1);

	if (op >= 0x70 && op <= 0x8f)
		p->reg = op - 0x70u;
	else if (op == 0x92)
		p->reg = (unsigned)hl_byte_reader_uleb(&b);
	else
		return false;
	p->off = hl_byte_reader_sleb(&b);
	*deref = b.p < b.end && *b.p == 0x06;
	return !b.bad && b.p + *deref == b.end;
}

/*
 * An expression over the stack pointer and the pc, as linkers write it for the PLT. If two
 * different stack pointers give the same distance, and no memory was read, the CFA is the stack
 * pointer + that distance.
 */
static hl_noinline bool eval_sp_expr(struct hl_byte_reader b, uintptr_t pc, struct hl_cfi_place *p)
{
	uintptr_t regs[HL_ARCH_REGISTERS], one, two;

	for (int i = 0; i < 2; i++) {
		/* Other registers get values that do not cancel out. */
		for (unsigned r = 0; r < HL_ARCH_REGISTERS; r++)
			regs[r] = (UINT64_C(0x5bd1e995a3b1c4d7) + r * 2 + 1) * (uintptr_t)(i + 3);
		regs[HL_ARCH_DW_PC] = pc;
		regs[HL_ARCH_DW_SP] = i ? 0x7ffe12345670 : 0x7f0000000000;
		if (!hl_cfi_eval(b, regs, NULL, NULL, i ? &two : &one))
			return false;
	}
	p->where = HL_CFI_REG;
	p->reg = HL_ARCH_DW_SP;
	p->off = (int64_t)(one - 0x7f0000000000);
	return one - 0x7f0000000000 == two - 0x7ffe12345670;
}

static struct hl_cfi_place cfa_place(
	const struct hl_object *o, const struct hl_cfi_row *row, uintptr_t pc)
{
	struct hl_cfi_place p = {
		.where = HL_CFI_REG, .reg = row->cfa_register, .off = row->cfa_value};
	bool deref;

	if (row->cfa_how == HL_ROW_REGISTER)
		return p;
	if (parse_simple_expr(hl_cfi_expr(o, row->cfa_value), &p, &deref))
		p.where = deref ? HL_CFI_AT_REG : HL_CFI_REG;
	else if (!eval_sp_expr(hl_cfi_expr(o, row->cfa_value), pc, &p))
		p.where = HL_CFI_OTHER;
	return p;
}

static struct hl_cfi_place reg_place(
	const struct hl_object *o, const struct hl_cfi_row *row, unsigned reg)
{
	struct hl_cfi_place p = {.where = HL_CFI_OTHER, .off = row->value[reg]};
	bool deref;

	switch (row->how[reg]) {
	case HL_ROW_SAME:
		p.where = HL_CFI_UNCHANGED;
		break;
	case HL_ROW_UNDEF:
		p.where = HL_CFI_UNDEF;
		break;
	case HL_ROW_OFFSET:
		p.where = HL_CFI_AT_CFA;
		break;
	case HL_ROW_EXPR:
		if (parse_simple_expr(hl_cfi_expr(o, row->value[reg]), &p, &deref) && !deref)
			p.where = HL_CFI_AT_REG;
		break;
	}
	return p;
}

/*
 * A separate function, so that its frame is not on the stack while the row is made: the program's
 * stack may be small.
 */
static hl_noinline uint32_t compile_row(
	const struct hl_object *o, const struct hl_cfi_row *row, uintptr_t pc, bool signal_frame)
{
	struct hl_cfi_shape shape = {
		.cfa = cfa_place(o, row, pc),
		.pc = reg_place(o, row, HL_ARCH_DW_PC),
		.sp = reg_place(o, row, HL_ARCH_DW_SP),
		.fp = reg_place(o, row, HL_ARCH_DW_FP),
		.signal_frame = signal_frame,
	};

	return hl_arch_rule(&shape);
}

hl_cold uint32_t hl_rule_compile(struct hl_walk *w, uintptr_t pc)
{
	uint64_t generation = hl_generation();
	struct hl_object o;
	struct hl_cfi_entry e;
	struct hl_cfi_row row;
	uint32_t rule = HL_RULE_NO_TABLE;
	bool exact = w->exact;

	w->misses++;
	if (!hl_object_find(pc, &o))
		return HL_RULE_UNKNOWN;
	announce_module(&o.module, generation);
	if (hl_cfi_find(&o, pc, &e) && hl_cfi_row(&o, &e, pc, &row)) {
		rule = compile_row(&o, &row, exact ? pc : pc + 1, e.signal_frame);
	} else if (!exact && hl_cfi_starts_function(&o, pc + 1)) {
		rule = HL_RULE_STOP;
	}
	store_rule(pc, exact, generation, rule);
	return rule;
}

hl_cold bool hl_unwind_function_range(uintptr_t pc, uintptr_t *lo, uintptr_t *hi)
{
	struct hl_object o;
	struct hl_cfi_entry e;

	if (!hl_object_find(pc, &o) || !hl_cfi_find(&o, pc, &e))
		return false;
	*lo = e.begin + o.shift;
	*hi = e.end + o.shift;
	return true;
}
