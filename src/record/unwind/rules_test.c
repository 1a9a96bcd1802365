/* rules_test.c - a rule from the cache is the rule of that pc, whoever else wants its place. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "record/unwind/cfi_internal.h"
#include "record/unwind/rules_internal.h"

static int announced;
static uintptr_t last_start;

static void on_module(const struct hl_unwind_module *module)
{
	announced++;
	last_start = module->start;
	assert_true(module->start < module->end);
	assert_non_null(module->name);
}

static uint32_t cached(uintptr_t pc, bool exact)
{
	struct hl_walk w = {.generation = hl_generation_bits(hl_generation()), .exact = exact};

	return hl_rule_get(&w, pc + !exact);
}

static uint32_t compiled(uintptr_t pc, bool exact)
{
	struct hl_walk w = {.exact = exact};

	return hl_rule_compile(&w, pc);
}

/* More pcs than the table has places: all of libc's, in an order that makes them meet. */
static void exact_when_crowded(void **state)
{
	struct hl_object o;
	uint32_t differ = 0, kinds[8] = {0};

	hl_unwind_init(NULL);
	assert_true(hl_object_find((uintptr_t)qsort, &o));
	for (unsigned turn = 0; turn < 5; turn++) {
		for (uintptr_t pc = o.module.start + turn; pc < o.module.end; pc += 5) {
			uintptr_t other =
				o.module.start + (pc * 7919) % (o.module.end - o.module.start);
			uint32_t rule = cached(pc, turn & 1);

			kinds[hl_rule_kind(rule)]++;
			cached(other, !(turn & 1));
			if (turn == 0 || pc % 3 == 0)
				differ += cached(pc, turn & 1) != compiled(pc, turn & 1);
		}
	}
	assert_int_equal(differ, 0);
	assert_true(kinds[HL_RULE_SP] > 100000);
	assert_true(kinds[HL_RULE_SIGNAL] > 0);
	assert_true(kinds[HL_RULE_END] > 0);
}

/* Pcs that share a set: made by undoing the product. */
static void tags_tell_them_apart(void **state)
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
		assert_int_equal(cached(pc, false), HL_RULE_UNKNOWN);
	}
	assert_true(found > 10);
	/* Nor is a pc beyond 47 bits taken for one that shares its low bits. */
	assert_int_equal(cached((uintptr_t)qsort | UINT64_C(1) << 48, false), HL_RULE_UNKNOWN);
	assert_int_equal(cached(UINTPTR_MAX - 1, false), HL_RULE_UNKNOWN);
	assert_int_equal(cached(0, false), HL_RULE_UNKNOWN);
}

static void generations_forget(void **state)
{
	uintptr_t pc = (uintptr_t)qsort + 8;
	uint32_t rule = compiled(pc, false);

	hl_unwind_init(on_module);
	for (int i = 0; i < 50; i++) {
		struct hl_walk w = {0};

		hl_unwind_bump();
		announced = 0;
		w.generation = hl_generation_bits(hl_generation());
		assert_int_equal(hl_rule_get(&w, pc + 1), rule);
		assert_int_equal(w.misses, 1);
		assert_int_equal(announced, 1);
		assert_true(last_start <= pc);
		assert_int_equal(hl_rule_get(&w, pc + 1), rule);
		assert_int_equal(w.misses, 1);
		assert_int_equal(announced, 1);
	}
}

static void knows_function_bounds(void **state)
{
	uintptr_t lo = 0, hi = 0;

	assert_true(hl_unwind_function_range((uintptr_t)knows_function_bounds + 4, &lo, &hi));
	assert_int_equal(lo, (uintptr_t)knows_function_bounds);
	assert_true(hi > lo && hi - lo < 4096);
	assert_false(hl_unwind_function_range((uintptr_t)&lo, &lo, &hi));
	assert_false(hl_unwind_function_range(0, &lo, &hi));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_when_crowded),
		cmocka_unit_test(tags_tell_them_apart),
		cmocka_unit_test(generations_forget),
		cmocka_unit_test(knows_function_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
