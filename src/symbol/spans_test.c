/*
 * spans_test.c - which ranges hold an address, against looking at all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "symbol/spans_internal.h"

static uint64_t rng;

static uint64_t below(uint64_t n)
{
	return hl_hash_u64(rng++) % n;
}

/* Random ranges that nest: each child lies within its parent. */
static void nest(struct hl_spans *s, uint64_t lo, uint64_t hi, uint32_t depth)
{
	if (lo >= hi || depth > 6)
		return;
	assert_int_equal(hl_spans_add(s, lo, hi, depth, s->v.len), 0);
	while (lo < hi && below(4)) {
		uint64_t a = lo + below(hi - lo), b = a + 1 + below(hi - a);

		nest(s, a, b, depth + 1);
		lo = b;
	}
}

static void nested(void **state)
{
	for (int round = 0; round < 200; round++) {
		struct hl_spans s = {0};

		for (uint64_t at = 10; at < 1000; at += 100)
			nest(&s, at, at + 90, 0);
		hl_spans_sort(&s);
		for (uint64_t addr = 0; addr < 1020; addr++) {
			const struct hl_span *p = hl_spans_find(&s, addr);
			uint64_t found = 0, all = 0;
			uint32_t depth = UINT32_MAX;

			for (size_t i = 0; i < s.v.len; i++)
				all += s.v.data[i].lo <= addr && addr < s.v.data[i].hi;
			for (; p; p = hl_spans_outer(&s, p, addr)) {
				assert_true(p->lo <= addr && addr < p->hi);
				assert_true(p->depth < depth); /* from the inside out */
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(nested)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
