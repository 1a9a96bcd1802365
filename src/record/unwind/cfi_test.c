/* SPDX-License-Identifier: Apache-2.0 */
/* cfi_test.c - correct results from valid tables, and no harm from damaged ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "record/unwind/cfi_internal.h"

/* The tables of libc, copied between two unreadable pages. Their pcs move with the copy. */
struct table_copy {
	struct hl_object o;
	uint8_t *bytes;
	size_t size;
	uintptr_t moved, text_start, text_end;
	const uint8_t *original;
};

static struct table_copy copy_tables(uintptr_t pc)
{
	struct table_copy c = {0};
	struct hl_object o;
	size_t whole;
	char *p;

	assert_true(hl_object_find(pc, &o));
	assert_true(o.header >= o.low && o.header < o.high);
	c.size = o.high - o.low;
	whole = hl_align_up(c.size, HL_PAGE);
	p = mmap(NULL, whole + 2 * HL_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + HL_PAGE, whole, PROT_READ | PROT_WRITE), 0);
	c.bytes = (uint8_t *)p + HL_PAGE + (whole - c.size);
	memcpy(c.bytes, (void *)o.low, c.size);
	c.original = (const uint8_t *)o.low;
	c.moved = (uintptr_t)c.bytes - o.low;
	c.o = o;
	c.o.low += c.moved;
	c.o.high += c.moved;
	c.o.header += c.moved;
	c.text_start = o.module.start + c.moved;
	c.text_end = o.module.end + c.moved;
	return c;
}

static uint32_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * n) >> 32);
}

static bool find_row(const struct hl_object *o, uintptr_t pc, struct hl_cfi_row *row)
{
	struct hl_cfi_entry e;

	memset(row, 0, sizeof(*row));
	return hl_cfi_find(o, pc, &e) && hl_cfi_row(o, &e, pc, row);
}

static void scan_and_search_find_same_entries(void **state)
{
	struct table_copy c = copy_tables((uintptr_t)qsort), plain = copy_tables((uintptr_t)qsort);
	uint32_t range = (uint32_t)(c.text_end - c.text_start), found = 0;

	((uint8_t *)plain.o.header)[3] = 0xff; /* no search table */
	for (int i = 0; i < 300; i++) {
		uintptr_t at = rnd(range);
		struct hl_cfi_entry a, b;
		bool fa = hl_cfi_find(&c.o, c.text_start + at, &a),
		     fb = hl_cfi_find(&plain.o, plain.text_start + at, &b);

		assert_int_equal(fa, fb);
		if (!fa)
			continue;
		found++;
		assert_int_equal(a.begin - c.moved, b.begin - plain.moved);
		assert_int_equal(a.end - c.moved, b.end - plain.moved);
	}
	assert_true(found > 50);
}

/* Tables that are read at another address than their code give the same rows for the same pcs. */
static void relocated_tables_give_same_rows(void **state)
{
	struct table_copy c = copy_tables((uintptr_t)qsort);
	struct hl_object o;
	uint32_t range, found = 0;

	assert_true(hl_object_find((uintptr_t)qsort, &o));
	c.o.shift = 0 - c.moved;
	range = (uint32_t)(o.module.end - o.module.start);
	for (int i = 0; i < 300; i++) {
		uintptr_t pc = o.module.start + rnd(range);
		struct hl_cfi_row a, b;
		struct hl_cfi_entry e;

		assert_int_equal(find_row(&o, pc, &a), find_row(&c.o, pc, &b));
		assert_memory_equal(&a, &b, sizeof(a));
		if (!hl_cfi_find(&o, pc, &e))
			continue;
		found++;
		assert_true(hl_cfi_starts_function(&o, e.begin));
		assert_true(hl_cfi_starts_function(&c.o, e.begin));
		assert_int_equal(hl_cfi_starts_function(&c.o, e.begin + 1), e.end == e.begin + 1);
	}
	assert_true(found > 50);
}

/* Relative pointers move with the table, absolute ones must be adjusted. */
static void pointers_in_relocated_tables(void **state)
{
	static const struct {
		uint8_t encoding;
		int64_t wanted; /* relative to the address of the table */
	} cases[] = {{0x00, 0x10 - 0x5000}, {0x04, 0x10 - 0x5000}, {0x1c, 0x10}, {0x3c, 0x30}};
	static uint8_t bytes[64];
	struct hl_object o = {.low = (uintptr_t)bytes,
		.header = (uintptr_t)bytes + 0x20,
		.high = (uintptr_t)bytes + sizeof(bytes),
		.shift = 0x5000};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		bool absolute = !(cases[i].encoding & 0x70);
		uint64_t value = 0x10 + (absolute ? (uint64_t)(uintptr_t)bytes : 0);
		struct hl_byte_reader b = {.p = bytes, .end = bytes + sizeof(bytes)};

		memcpy(bytes, &value, sizeof(value));
		assert_int_equal(hl_cfi_pointer(&o, &b, cases[i].encoding),
			(uintptr_t)bytes + (uintptr_t)cases[i].wanted);
		assert_false(b.bad);
	}
}

/* Arbitrary bytes: no crash, no endless loop, no read outside the segment. */
static void damaged_tables_are_harmless(void **state)
{
	struct table_copy c = copy_tables((uintptr_t)qsort);
	uint32_t range = (uint32_t)(c.text_end - c.text_start), good = 0, size = (uint32_t)c.size;
	uint32_t header = (uint32_t)(c.o.header - c.o.low);
	uintptr_t regs[HL_ARCH_REGISTERS] = {0}, value;
	struct hl_cfi_row row;

	for (int round = 0; round < 3000; round++) {
		uint32_t hits = 1 + rnd(64);

		for (uint32_t i = 0; i < hits; i++) {
			uint32_t at = i == 0 ? header + rnd(64) : header + rnd(size - header);
			c.bytes[at] = rnd(3) ? (uint8_t)rnd(256) : (uint8_t)(0xff * rnd(2));
		}
		for (int i = 0; i < 100; i++) {
			if (!find_row(&c.o, c.text_start + rnd(range), &row))
				continue;
			good++;
			for (unsigned r = 0; r < HL_ARCH_REGISTERS; r++) {
				if (row.how[r] == HL_ROW_EXPR || row.how[r] == HL_ROW_VAL_EXPR)
					hl_cfi_eval(hl_cfi_expr(&c.o, row.value[r]), regs, NULL,
						NULL, &value);
			}
			if (row.cfa_how == HL_ROW_EXPR)
				hl_cfi_eval(
					hl_cfi_expr(&c.o, row.cfa_value), regs, NULL, NULL, &value);
		}
		/*
		 * Damage accumulates for a while, so that both single and multiple faults are
		 * tested.
		 */
		if (round % 20 == 0)
			memcpy(c.bytes, c.original, c.size);
	}
	assert_true(good > 1000);
}

/*
 * Only bytes of the instructions change: the search still finds the entries, so the instructions
 * run.
 */
static void damaged_programs_are_harmless(void **state)
{
	struct table_copy c = copy_tables((uintptr_t)qsort);
	uint32_t range = (uint32_t)(c.text_end - c.text_start);
	struct hl_cfi_entry e;
	struct hl_cfi_row row;

	for (int round = 0; round < 200000; round++) {
		uintptr_t pc = c.text_start + rnd(range);
		size_t n;

		if (!hl_cfi_find(&c.o, pc, &e))
			continue;
		n = (size_t)(e.own.end - e.own.p);
		if (n > 0)
			((uint8_t *)e.own.p)[rnd((uint32_t)n)] = (uint8_t)rnd(256);
		hl_cfi_row(&c.o, &e, pc, &row);
	}
}

static void evaluates_expressions(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool ok;
		uint64_t value;
	} cases[] = {
		{"\x35", 1, true, 5},          /* lit5 */
		{"\x77\x08", 2, true, 0x1008}, /* rsp + 8 */
		{"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 11, true,
			0x1010},                           /* as in a PLT: pc & 15 >= 11 */
		{"\x39\x34\x1c", 3, true, 5},              /* 9 - 4 */
		{"\x39\x30\x1b", 3, false, 0},             /* division by zero */
		{"\x09\xff", 2, true, UINT64_MAX},         /* const1s -1 */
		{"\x08\xff", 2, true, 255},                /* const1u 255 */
		{"\x0b\xfe\xff", 3, true, UINT64_MAX - 1}, /* const2s -2 */
		{"\x31\x32\x16\x1c", 4, true, 1},          /* 1 2 swap -: 2 - 1 */
		{"\x31\x32\x33\x17\x1c\x1c", 6, true, 4},  /* rot: 3 1 2, then 3 - (1 - 2) */
		{"\x22", 1, false, 0},                     /* stack underflow */
		{"", 0, false, 0},                         /* no result */
		{"\x2f\xfd\xff", 3, false, 0},             /* endless loop */
		{"\x2f\x00\x01", 3, false, 0},             /* jump out of the expression */
		{"\x77\x00\x06", 3, false, 0}, /* reads memory, which is not allowed here */
		{"\x0e\x01\x02", 3, false, 0}, /* truncated */
		{"\xf0", 1, false, 0},         /* unknown */
	};
	uintptr_t regs[HL_ARCH_REGISTERS] = {[HL_ARCH_DW_SP] = 0x1000, [HL_ARCH_DW_PC] = 0x200b},
		  value;

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const uint8_t *p = (const uint8_t *)cases[i].bytes;
		struct hl_byte_reader b = {.p = p, .end = p + cases[i].len};
		bool ok = hl_cfi_eval(b, regs, NULL, NULL, &value);

		if (ok != cases[i].ok || (ok && value != cases[i].value))
			fail_msg("case %zu: %d %#lx", i, ok, (unsigned long)value);
	}
}

/* Runs these instructions as the FDE of a function at [0x1000, 0x1100). */
static bool run_program(const char *program, size_t len, uintptr_t pc, struct hl_cfi_row *row)
{
	static uint8_t bytes[256];
	struct hl_object o = {.low = (uintptr_t)bytes, .high = (uintptr_t)bytes + sizeof(bytes)};
	static const uint8_t def[] = {0x0c, 7, 8, 0x90, 1}; /* CFA = rsp + 8, pc at CFA - 8 */
	struct hl_cfi_entry e = {.begin = 0x1000,
		.end = 0x1100,
		.code_align = 1,
		.data_align = -8,
		.pc_register = 16};

	memcpy(bytes, def, sizeof(def));
	memcpy(bytes + sizeof(def), program, len);
	e.common = (struct hl_byte_reader){.p = bytes, .end = bytes + sizeof(def)};
	e.own = (struct hl_byte_reader){.p = bytes + sizeof(def), .end = bytes + sizeof(def) + len};
	return hl_cfi_row(&o, &e, pc, row);
}

static void runs_programs(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		uintptr_t pc;
		bool ok;
		int reg, cfa; /* CFA = reg + cfa */
		int fp_how, fp;
	} cases[] = {
		{"", 0, 0x1000, true, 7, 8, HL_ROW_SAME, 0},
		{"\x41\x0e\x10\x86\x02", 5, 0x1000, true, 7, 8, HL_ROW_SAME,
			0}, /* before push rbp */
		{"\x41\x0e\x10\x86\x02", 5, 0x1001, true, 7, 16, HL_ROW_OFFSET, -16}, /* after it */
		{"\x41\x0e\x10\x86\x02\x43\x0d\x06", 8, 0x1004, true, 6, 16, HL_ROW_OFFSET,
			-16}, /* mov rsp, rbp */
		{"\x0a\x41\x0e\x10\x0b", 5, 0x1001, true, 7, 8, HL_ROW_SAME,
			0},                             /* remember, restore */
		{"\x0b", 1, 0x1000, false, 0, 0, 0, 0}, /* restore without remember */
		{"\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a", 8, 0x1000, false, 0, 0, 0,
			0},                                              /* nested too deep */
		{"\x86\x02\xc6", 3, 0x1000, true, 7, 8, HL_ROW_SAME, 0}, /* restore rbp */
		{"\x0e\x80", 2, 0x1000, false, 0, 0, 0, 0},              /* truncated */
		{"\x0c\x20\x08", 3, 0x1000, false, 0, 0, 0, 0}, /* CFA in a vector register */
		{"\x3f", 1, 0x1000, false, 0, 0, 0, 0},         /* unknown */
		{"\x07\x06", 2, 0x1000, true, 7, 8, HL_ROW_UNDEF, 0},
		{"\x09\x06\x03", 3, 0x1000, true, 7, 8, HL_ROW_REGISTER, 3},
		{"\x11\x06\x7e", 3, 0x1000, true, 7, 8, HL_ROW_OFFSET, 16}, /* signed, factored */
		{"\x2e\x20", 2, 0x1000, true, 7, 8, HL_ROW_SAME, 0},        /* GNU_args_size */
		{"\x03\x10\x00\x0e\x20", 5, 0x100f, true, 7, 8, HL_ROW_SAME,
			0}, /* advance by two bytes */
		{"\x03\x10\x00\x0e\x20", 5, 0x1010, true, 7, 32, HL_ROW_SAME, 0},
	};
	struct hl_cfi_row row;

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		bool ok = run_program(cases[i].bytes, cases[i].len, cases[i].pc, &row);

		if (ok != cases[i].ok)
			fail_msg("case %zu: %d", i, ok);
		if (!ok)
			continue;
		if (row.cfa_register != cases[i].reg || row.cfa_value != cases[i].cfa ||
			row.how[6] != cases[i].fp_how || row.value[6] != cases[i].fp)
			fail_msg("case %zu: %d + %d, %d %d", i, row.cfa_register, row.cfa_value,
				row.how[6], row.value[6]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evaluates_expressions),
		cmocka_unit_test(runs_programs),
		cmocka_unit_test(scan_and_search_find_same_entries),
		cmocka_unit_test(relocated_tables_give_same_rows),
		cmocka_unit_test(pointers_in_relocated_tables),
		cmocka_unit_test(damaged_tables_are_harmless),
		cmocka_unit_test(damaged_programs_are_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
