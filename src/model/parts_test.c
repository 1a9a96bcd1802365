/*
 * parts_test.c - every block is in one part, parts follow each other from the lowest address up,
 * and what is known to lie elsewhere is skipped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "base/hash.h"
#include "model/parts.h"

#define N    10000u
#define MOST 1000u

/* Where block i lies: these are all that there are, in different orders. */
static uint64_t upwards(uint64_t i)
{
	return 0x5500000000 + i * 32;
}

static uint64_t downwards(uint64_t i)
{
	return UINT64_MAX - i * 32;
}

static uint64_t anywhere(uint64_t i)
{
	return hl_hash_u64(i) | 1;
}

static uint64_t few_places(uint64_t i)
{
	return 16 + i % 40 * 16;
}

/* One reading: all blocks are born, those of the part stay. The most that there ever were. */
static void read_part(struct hl_parts *p, struct hl_blocks *t, uint64_t (*place)(uint64_t))
{
	for (uint64_t i = 0; i < N; i++) {
		struct hl_block b = {.ordinal = i, .addr = place(i), .pool = UINT32_MAX};

		if (hl_parts_has(p, b.addr) && t->len >= MOST)
			assert_int_equal(hl_parts_narrow(p, t), 0);
		if (hl_parts_has(p, b.addr))
			assert_int_equal(hl_blocks_put(t, &b), 0);
		assert_true(t->len <= MOST);
	}
}

static size_t take_part(struct hl_parts *p, struct hl_blocks *t, uint8_t *seen)
{
	struct hl_block b;
	size_t at = 0, n = 0;

	while (hl_blocks_next(t, &at, &b)) {
		assert_true(hl_parts_has(p, b.addr));
		assert_false(seen[b.ordinal]++);
		n++;
	}
	hl_blocks_fini(t);
	return n;
}

static void all_orders(void **state)
{
	uint64_t (*const places[])(uint64_t) = {upwards, downwards, anywhere, few_places};

	for (size_t i = 0; i < HL_ARRAY_LEN(places); i++) {
		struct hl_parts p = {0};
		struct hl_blocks t = {0};
		uint8_t seen[N] = {0};
		size_t n = 0, parts = 0;
		uint64_t low;

		assert_int_equal(hl_parts_begin(&p, 0), 0);
		do {
			low = p.low;
			read_part(&p, &t, places[i]);
			n += take_part(&p, &t, seen);
			parts++;
		} while (hl_parts_next(&p) && p.low > low);
		assert_int_equal(n, N);
		assert_in_range(parts, N / MOST, 3 * N / MOST);
		hl_parts_fini(&p);
	}
}

static void one_place(void **state)
{
	struct hl_parts p = {0};
	struct hl_blocks t = {0};

	assert_int_equal(hl_parts_begin(&p, 0), 0);
	for (uint64_t i = 0; i < 100; i++) {
		struct hl_block b = {.ordinal = i, .addr = 4096, .pool = UINT32_MAX};

		assert_int_equal(hl_blocks_put(&t, &b), 0);
	}
	/* All go to the next part, where they cannot go any further. */
	assert_int_equal(hl_parts_narrow(&p, &t), 0);
	assert_int_equal(t.len, 0);
	assert_true(hl_parts_next(&p));
	assert_int_equal(p.low, 4096);
	assert_int_equal(hl_blocks_put(&t, &(struct hl_block){.addr = 4096}), 0);
	assert_int_equal(hl_parts_narrow(&p, &t), -EOVERFLOW);
	hl_blocks_fini(&t);
	hl_parts_fini(&p);
}

static void skips(void **state)
{
	const struct hl_event near[] = {{.addr = 300}, {.addr = 100}}, far[] = {{.addr = 900}};
	struct hl_parts p = {0};

	assert_int_equal(hl_parts_begin(&p, 4), 0);
	hl_parts_see(&p, 0, near, 2);
	hl_parts_see(&p, 1, far, 1);
	hl_parts_see(&p, 2, NULL, 0);
	p.high = 299;
	for (size_t i = 0; i < 5; i++)
		assert_false(hl_parts_may_skip(&p, i)); /* the first part is to learn from */
	assert_true(hl_parts_next(&p));
	assert_int_equal(p.low, 300);
	assert_false(hl_parts_may_skip(&p, 0));
	assert_false(hl_parts_may_skip(&p, 1));
	p.high = 899;
	assert_true(hl_parts_may_skip(&p, 1));
	assert_true(hl_parts_next(&p));
	assert_true(hl_parts_may_skip(&p, 0));
	assert_false(hl_parts_may_skip(&p, 1));
	assert_true(hl_parts_may_skip(&p, 2));
	assert_false(hl_parts_may_skip(&p, 3)); /* it was not read */
	assert_false(hl_parts_next(&p));
	hl_parts_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_orders), cmocka_unit_test(one_place), cmocka_unit_test(skips)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
