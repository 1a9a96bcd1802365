/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_test.c - a rule from the table is the rule of that pc, even if other pcs compete for its
 * entry.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "record/unwind/cfi_internal.h"
#include "record/unwind/rules_internal.h"

static int n_announced;
static uintptr_t last_start;

static void on_module(const struct hl_unwind_module *module)
{
	n_announced++;
	last_start = module->start;
	assert_true(module->start < module->end);
	assert_non_null(module->name);
}

static uint32_t get_rule(uintptr_t pc, bool exact)
{
	struct hl_walk w = {.generation = hl_generation_bits(hl_generation()), .exact = exact};

	return hl_rule_get(&w, pc + !exact);
}

static uint32_t compile_rule(uintptr_t pc, bool exact)
{
	struct hl_walk w = {.exact = exact};

	return hl_rule_compile(&w, pc);
}

/* More pcs than the table has entries: all of libc, in an order that causes collisions. */
static void rules_are_exact_in_crowded_table(void **state)
{
	struct hl_object o;
	uint32_t differ = 0, kinds[8] = {0};

	hl_unwind_init(NULL);
	assert_true(hl_object_find((uintptr_t)qsort, &o));
	for (unsigned turn = 0; turn < 5; turn++) {
		for (uintptr_t pc = o.module.start + turn; pc < o.module.end; pc += 5) {
			uintptr_t other =
				o.module.start + (pc * 7919) % (o.module.end - o.module.start);
			uint32_t rule = get_rule(pc, turn & 1);

			kinds[hl_rule_kind(rule)]++;
			get_rule(other, !(turn & 1));
			if (turn == 0 || pc % 3 == 0)
				differ += get_rule(pc, turn & 1) != compile_rule(pc, turn & 1);
		}
	}
	assert_int_equal(differ, 0);
	assert_true(kinds[HL_RULE_SP] > 100000);
	assert_true(kinds[HL_RULE_SIGNAL] > 0);
	assert_true(kinds[HL_RULE_END] > 0);
}

/* Pcs of the same set, computed by inverting the product. */
static void tags_distinguish_pcs_of_one_set(void **state)
{
	uint64_t k = HL_RULE_MUL >> 16, inverse = 1;
	unsigned found = 0;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - k * inverse; /* Newton, modulo 2^64 */
	for (uint64_t tag = 0; tag < 64; tag++) {
		uint64_t pc = ((UINT64_C(0x1234) << 32 | tag * 0x1234567) * inverse) &
			      ((UINT64_C(1) << 48) - 1);

		assert_int_equal(((pc * HL_RULE_MUL) >> 48), 0x1234);
		if (pc >> 47)
			continue;
		found++;
		assert_int_equal(get_rule(pc, false), HL_RULE_UNKNOWN);
	}
	assert_true(found > 10);
	/* A pc beyond 47 bits is not confused with one that has the same low bits. */
	assert_int_equal(get_rule((uintptr_t)qsort | UINT64_C(1) << 48, false), HL_RULE_UNKNOWN);
	assert_int_equal(get_rule(UINTPTR_MAX - 1, false), HL_RULE_UNKNOWN);
	assert_int_equal(get_rule(0, false), HL_RULE_UNKNOWN);
}

static void new_generation_forgets_rules(void **state)
{
	uintptr_t pc = (uintptr_t)qsort + 8;
	uint32_t rule = compile_rule(pc, false);

	hl_unwind_init(on_module);
	for (int i = 0; i < 50; i++) {
		struct hl_walk w = {0};

		hl_unwind_bump();
		n_announced = 0;
		w.generation = hl_generation_bits(hl_generation());
		assert_int_equal(hl_rule_get(&w, pc + 1), rule);
		assert_int_equal(w.misses, 1);
		assert_int_equal(n_announced, 1);
		assert_true(last_start <= pc);
		assert_int_equal(hl_rule_get(&w, pc + 1), rule);
		assert_int_equal(w.misses, 1);
		assert_int_equal(n_announced, 1);
	}
}

static void finds_function_bounds(void **state)
{
	uintptr_t lo = 0, hi = 0;

	assert_true(hl_unwind_function_range((uintptr_t)finds_function_bounds + 4, &lo, &hi));
	assert_int_equal(lo, (uintptr_t)finds_function_bounds);
	assert_true(hi > lo && hi - lo < 4096);
	assert_false(hl_unwind_function_range((uintptr_t)&lo, &lo, &hi));
	assert_false(hl_unwind_function_range(0, &lo, &hi));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_exact_in_crowded_table),
		cmocka_unit_test(tags_distinguish_pcs_of_one_set),
		cmocka_unit_test(new_generation_forgets_rules),
		cmocka_unit_test(finds_function_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
