/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_table_test.c - the table of live blocks against a plain array of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "model/scan/block_table.h"

#define N 20000

/* Block i: all fields follow from i. Every third block has a weight, every fifth a pool. */
static struct hl_block block_of(uint64_t i)
{
	struct hl_block b = {.ordinal = i * 3,
		.addr = i << 20,
		.size = i + 7,
		.blocks = 1,
		.bytes = i + 7,
		.alloc_ns = i * 1000,
		.free_ns = UINT64_MAX,
		.node = (uint32_t)i,
		.thread = (uint32_t)i % 13,
		.tag = (uint32_t)i % 11,
		.pool = UINT32_MAX,
		.func = i % 5,
		.alloc_phase = i % 2 ? HL_RANGE_IN : HL_RANGE_BEFORE,
		.free_phase = HL_RANGE_NEVER};

	/* some ordinals differ in their upper half only */
	if (i % 7 == 0)
		b.ordinal = (i + 1) << 32;
	if (i % 3 == 0)
		b.blocks = i + 2, b.bytes = i * 100;
	if (i % 5 == 0)
		b.pool = (uint32_t)i % 4;
	return b;
}

static void expect_same(const struct hl_block *a, const struct hl_block *b)
{
	assert_int_equal(a->ordinal, b->ordinal);
	assert_int_equal(a->addr, b->addr);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->blocks, b->blocks);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->alloc_ns, b->alloc_ns);
	assert_int_equal(a->free_ns, b->free_ns);
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->pool, b->pool);
	assert_int_equal(a->func, b->func);
	assert_int_equal(a->alloc_phase, b->alloc_phase);
	assert_int_equal(a->free_phase, b->free_phase);
}

static int check_next(void *arg, const struct hl_block *b)
{
	uint64_t *last = arg;
	struct hl_block want = block_of(b->node);

	assert_true(b->ordinal + 1 > *last);
	*last = b->ordinal + 1;
	expect_same(b, &want);
	return 0;
}

static void table_equals_plain_array(void **state)
{
	static bool present[N];
	struct hl_block_table t = {0};
	struct hl_block b, want;
	size_t n = 0, at = 0;
	uint64_t ordinal = 0;

	for (uint64_t step = 0; step < 20 * N; step++) {
		uint64_t i = hl_hash_u64(step) % N;

		want = block_of(i);
		if (!present[i]) {
			assert_false(hl_block_table_take(&t, want.ordinal, &b));
			assert_int_equal(hl_block_table_put(&t, &want), 0);
		} else {
			assert_true(hl_block_table_take(&t, want.ordinal, &b));
			expect_same(&b, &want);
		}
		present[i] = !present[i];
		n += present[i] ? 1 : (size_t)-1;
		assert_int_equal(t.len, n);
	}
	assert_int_equal(hl_block_table_in_order(&t, check_next, &ordinal), 0);
	for (; hl_block_table_next(&t, &at, &b); n--) {
		want = block_of(b.node);
		assert_true(present[b.node]);
		present[b.node] = false;
		expect_same(&b, &want);
	}
	assert_int_equal(n, 0);
	assert_true(hl_block_table_memory(&t) <= (size_t)N * HL_BLOCKS_ENTRY_BYTES);
	hl_block_table_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table_equals_plain_array)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
