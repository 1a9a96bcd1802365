/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans_test.c - finding ranges by address, compared with a linear search.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "symbol/dwarf/spans_internal.h"

static uint64_t rng;

static uint64_t random_below(uint64_t n)
{
	return hl_hash_u64(rng++) % n;
}

/* Adds random nested ranges: each child is within its parent. */
static void add_nested(struct hl_spans *s, uint64_t lo, uint64_t hi, uint32_t depth)
{
	if (lo >= hi || depth > 6)
		return;
	assert_int_equal(hl_spans_add(s, lo, hi, depth, s->v.len), 0);
	while (lo < hi && random_below(4)) {
		uint64_t a = lo + random_below(hi - lo), b = a + 1 + random_below(hi - a);

		add_nested(s, a, b, depth + 1);
		lo = b;
	}
}

static void nested_spans_are_found(void **state)
{
	for (int round = 0; round < 200; round++) {
		struct hl_spans s = {0};

		for (uint64_t at = 10; at < 1000; at += 100)
			add_nested(&s, at, at + 90, 0);
		hl_spans_sort(&s);
		for (uint64_t addr = 0; addr < 1020; addr++) {
			const struct hl_span *p = hl_spans_find(&s, addr);
			uint64_t found = 0, all = 0;
			uint32_t depth = UINT32_MAX;

			for (size_t i = 0; i < s.v.len; i++)
				all += s.v.data[i].lo <= addr && addr < s.v.data[i].hi;
			for (; p; p = hl_spans_outer(&s, p, addr)) {
				assert_true(p->lo <= addr && addr < p->hi);
				assert_true(p->depth < depth); /* from the innermost outwards */
				depth = p->depth;
				found++;
			}
			assert_int_equal(found, all);
		}
		hl_spans_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nested_spans_are_found)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
