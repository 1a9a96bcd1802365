/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_slices_test.c - each block is in exactly one slice, slices follow each other from the
 * lowest address up, and chunks that are known to be outside of a slice are skipped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "base/hash.h"
#include "model/scan/address_slices.h"

#define N          10000u
#define BLOCKS_MAX 1000u

/* The address of block i. The functions give different orders of addresses. */
static uint64_t rising_addr(uint64_t i)
{
	return 0x5500000000 + i * 32;
}

static uint64_t falling_addr(uint64_t i)
{
	return UINT64_MAX - i * 32;
}

static uint64_t random_addr(uint64_t i)
{
	return hl_hash_u64(i) | 1;
}

static uint64_t one_of_few_addrs(uint64_t i)
{
	return 16 + i % 40 * 16;
}

/* One scan: allocates all blocks and keeps those of the slice. The table never exceeds BLOCKS_MAX
 * blocks. */
static void read_slice(
	struct hl_address_slices *p, struct hl_block_table *t, uint64_t (*addr_of)(uint64_t))
{
	for (uint64_t i = 0; i < N; i++) {
		struct hl_block b = {.ordinal = i, .addr = addr_of(i), .pool = UINT32_MAX};

		if (hl_address_slices_contains(p, b.addr) && t->len >= BLOCKS_MAX)
			assert_int_equal(hl_address_slices_narrow(p, t), 0);
		if (hl_address_slices_contains(p, b.addr))
			assert_int_equal(hl_block_table_put(t, &b), 0);
		assert_true(t->len <= BLOCKS_MAX);
	}
}

static size_t check_slice(struct hl_address_slices *p, struct hl_block_table *t, uint8_t *seen)
{
	struct hl_block b;
	size_t at = 0, n = 0;

	while (hl_block_table_next(t, &at, &b)) {
		assert_true(hl_address_slices_contains(p, b.addr));
		assert_false(seen[b.ordinal]++);
		n++;
	}
	hl_block_table_fini(t);
	return n;
}

static void each_block_is_in_exactly_one_slice(void **state)
{
	uint64_t (*const orders[])(uint64_t) = {
		rising_addr, falling_addr, random_addr, one_of_few_addrs};

	for (size_t i = 0; i < HL_ARRAY_LEN(orders); i++) {
		struct hl_address_slices p = {0};
		struct hl_block_table t = {0};
		uint8_t seen[N] = {0};
		size_t n = 0, n_slices = 0;
		uint64_t low;

		assert_int_equal(hl_address_slices_begin(&p, 0), 0);
		do {
			low = p.low;
			read_slice(&p, &t, orders[i]);
			n += check_slice(&p, &t, seen);
			n_slices++;
		} while (hl_address_slices_next(&p) && p.low > low);
		assert_int_equal(n, N);
		assert_in_range(n_slices, N / BLOCKS_MAX, 3 * N / BLOCKS_MAX);
		hl_address_slices_fini(&p);
	}
}

static void blocks_at_one_address_cannot_be_split(void **state)
{
	struct hl_address_slices p = {0};
	struct hl_block_table t = {0};

	assert_int_equal(hl_address_slices_begin(&p, 0), 0);
	for (uint64_t i = 0; i < 100; i++) {
		struct hl_block b = {.ordinal = i, .addr = 4096, .pool = UINT32_MAX};

		assert_int_equal(hl_block_table_put(&t, &b), 0);
	}
	/* All blocks move to the next slice, which cannot be narrowed any further. */
	assert_int_equal(hl_address_slices_narrow(&p, &t), 0);
	assert_int_equal(t.len, 0);
	assert_true(hl_address_slices_next(&p));
	assert_int_equal(p.low, 4096);
	assert_int_equal(hl_block_table_put(&t, &(struct hl_block){.addr = 4096}), 0);
	assert_int_equal(hl_address_slices_narrow(&p, &t), -EOVERFLOW);
	hl_block_table_fini(&t);
	hl_address_slices_fini(&p);
}

static void chunks_outside_of_a_slice_are_skipped(void **state)
{
	const struct hl_event near[] = {{.addr = 300}, {.addr = 100}}, far[] = {{.addr = 900}};
	struct hl_address_slices p = {0};

	assert_int_equal(hl_address_slices_begin(&p, 4), 0);
	hl_address_slices_note_chunk(&p, 0, near, 2);
	hl_address_slices_note_chunk(&p, 1, far, 1);
	hl_address_slices_note_chunk(&p, 2, NULL, 0);
	p.high = 299;
	for (size_t i = 0; i < 5; i++)
		assert_false(hl_address_slices_may_skip(&p, i)); /* not in the first slice */
	assert_true(hl_address_slices_next(&p));
	assert_int_equal(p.low, 300);
	assert_false(hl_address_slices_may_skip(&p, 0));
	assert_false(hl_address_slices_may_skip(&p, 1));
	p.high = 899;
	assert_true(hl_address_slices_may_skip(&p, 1));
	assert_true(hl_address_slices_next(&p));
	assert_true(hl_address_slices_may_skip(&p, 0));
	assert_false(hl_address_slices_may_skip(&p, 1));
	assert_true(hl_address_slices_may_skip(&p, 2));
	assert_false(hl_address_slices_may_skip(&p, 3)); /* it was not read */
	assert_false(hl_address_slices_next(&p));
	hl_address_slices_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_block_is_in_exactly_one_slice),
		cmocka_unit_test(blocks_at_one_address_cannot_be_split),
		cmocka_unit_test(chunks_outside_of_a_slice_are_skipped)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
