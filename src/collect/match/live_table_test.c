/* SPDX-License-Identifier: Apache-2.0 */
/* live_table_test.c - compares the live table with a plain array, through several growths. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/match/live_table.h"
#include "collect/match/live_table_inline.h"

#define ADDRESSES 60000u

static uint64_t address(uint32_t i)
{
	return UINT64_C(0x7f0000000000) + i * UINT64_C(16);
}

/* Addresses from parts of the heap whose cache slots overlap. */
static uint64_t spread_address(uint32_t i)
{
	return address(i) + (uint64_t)(i % 16) * (UINT64_C(1) << 32);
}

static struct hl_live_entry make_entry(uint32_t i, uint64_t ordinal)
{
	struct hl_live_entry e = {
		.addr = spread_address(i),
		.ordinal_thread = ordinal << 24 | (ordinal & 0xff),
		.size_time = (ordinal * 3) << 16 | ((ordinal >> 32) & 0xffff),
		.time_node = ordinal << 32 | ((uint32_t)ordinal ^ 0x5555),
	};

	return e;
}

static void count_entry(void *arg, const struct hl_live_entry *e)
{
	uint64_t *n = arg;

	n[0]++;
	n[1] += hl_live_ordinal(e);
}

/* Uses the fast path where possible; *n_fast counts how often. */
static struct hl_live_entry *insert_block(struct hl_live_table *l, uint64_t addr, uint32_t *n_fast)
{
	struct hl_live_entry *e = NULL;

	if (!l->cache)
		e = hl_live_insert_home(l, addr, hl_live_home_line(l, addr));
	else if (hl_live_cache_insert(l, hl_live_cache_slot(l, addr), addr))
		e = hl_live_cache_slot(l, addr);
	*n_fast += e != NULL;
	return e ? e : hl_live_insert(l, addr);
}

static bool take_from_cache(struct hl_live_table *l, uint64_t addr, struct hl_live_entry *out)
{
	struct hl_live_entry *cached = hl_live_cache_slot(l, addr);

	if (cached->addr != addr)
		return false;
	*out = *cached;
	hl_live_cache_remove(l, cached);
	return true;
}

static bool take_from_home(struct hl_live_table *l, uint64_t addr, struct hl_live_entry *out)
{
	struct hl_live_line *line = hl_live_home_line(l, addr);
	uint32_t slot;
	struct hl_live_entry *e = hl_live_find_home(l, addr, line, &slot);

	if (!e)
		return false;
	*out = *e;
	hl_live_remove_home(l, e, line, slot);
	return true;
}

static bool take_block(
	struct hl_live_table *l, uint64_t addr, struct hl_live_entry *out, uint32_t *n_fast)
{
	bool taken = (l->cache && take_from_cache(l, addr, out)) || take_from_home(l, addr, out);

	*n_fast += taken;
	return taken || hl_live_remove(l, addr, out);
}

/* Inserts blocks and frees none, until the table drops its cache. */
static void force_cache_off(struct hl_live_table *l, uint64_t from)
{
	for (uint64_t i = 0; l->cache; i++) {
		assert_true(i < 1000000);
		assert_non_null(hl_live_insert(l, from + i * 64));
		hl_live_consider_cache(l);
	}
}

/* First more inserts than removals, then only removals: every find and take must agree with the
 * array. */
static void check_against_array(size_t limit, bool with_cache)
{
	static uint64_t expected[ADDRESSES]; /* ordinal + 1; 0: not live */
	uint64_t ordinal = 0, live = 0, sum = 0, seen[2] = {0}, others;
	uint32_t n_fast[2] = {0};
	struct hl_live_table l;
	struct hl_live_entry got;
	int dir = open("/tmp", O_PATH | O_DIRECTORY);

	for (uint32_t i = 0; i < ADDRESSES; i++)
		expected[i] = 0;
	assert_int_equal(hl_live_init(&l, limit, dir), 0);
	if (!with_cache)
		force_cache_off(&l, UINT64_C(0x560000000010));
	others = hl_live_blocks(&l);
	srand(7);
	for (int step = 0; step < 400000; step++) {
		uint32_t i = (uint32_t)rand() % ADDRESSES;

		hl_live_continue_growth(&l, 1);
		hl_live_prefetch_entry(
			&l, spread_address(i), hl_live_home_line(&l, spread_address(i)));
		assert_int_equal(hl_live_find(&l, spread_address(i)) != NULL, expected[i] != 0);
		if (expected[i] && !l.cache)
			assert_null(hl_live_insert_home(
				&l, spread_address(i), hl_live_home_line(&l, spread_address(i))));
		if (expected[i] && l.cache)
			assert_true(hl_live_cache_slot(&l, spread_address(i))->addr !=
				    ~spread_address(i));
		if (!expected[i] && rand() % 3) {
			struct hl_live_entry e = make_entry(i, ordinal);

			struct hl_live_entry *slot = step % 4 ? insert_block(&l, e.addr, &n_fast[0])
							      : hl_live_insert(&l, e.addr);

			assert_non_null(slot);
			assert_true(slot->addr == e.addr);
			*slot = e;
			expected[i] = ++ordinal;
			live++;
		} else if (expected[i]) {
			assert_true(step % 4 ? take_block(&l, spread_address(i), &got, &n_fast[1])
					     : hl_live_remove(&l, spread_address(i), &got));
			assert_int_equal(hl_live_ordinal(&got), expected[i] - 1);
			assert_int_equal(hl_live_size(&got), (expected[i] - 1) * 3);
			expected[i] = 0;
			live--;
		}
		assert_int_equal(hl_live_blocks(&l), others + live);
	}
	for (uint32_t i = 0; i < ADDRESSES; i++)
		sum += expected[i] ? expected[i] - 1 : 0;
	assert_int_equal(l.n_evicted > 1000, with_cache);
	/* the fast paths must have been used */
	assert_true(n_fast[0] > ordinal / 4 && n_fast[1] > (ordinal - live) / 2);
	hl_live_each(&l, count_entry, seen);
	assert_int_equal(seen[0], others + live);
	assert_int_equal(seen[1], sum);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		assert_int_equal(hl_live_remove(&l, spread_address(i), &got), expected[i] != 0);
	assert_int_equal(hl_live_blocks(&l), others);
	hl_live_fini(&l);
	close(dir);
}

static void table_in_memory_matches_array(void **state)
{
	check_against_array(SIZE_MAX, false);
}

static void table_in_file_matches_array(void **state)
{
	check_against_array(1024, false);
}

/* Blocks evict each other from the cache, and all are found. */
static void cached_table_matches_array(void **state)
{
	check_against_array(SIZE_MAX, true);
}

/* Blocks are long-lived, then most are short-lived, then they are long-lived again. */
static void cache_is_dropped_and_restored(void **state)
{
	uint64_t seen[2] = {0}, stayed;
	uint32_t n_fast = 0;
	struct hl_live_entry got;
	struct hl_live_table l;

	assert_int_equal(hl_live_init(&l, SIZE_MAX, AT_FDCWD), 0);
	force_cache_off(&l, UINT64_C(0x560000000010));
	for (uint32_t i = 0; i < ADDRESSES; i += 100)
		insert_block(&l, address(i), &n_fast)->ordinal_thread = (uint64_t)i << 24;
	stayed = hl_live_blocks(&l);
	for (uint32_t i = 1; !l.cache || i % ADDRESSES; i++) {
		uint64_t addr = address(i % ADDRESSES) + 8 * (i % 100 == 0);

		assert_true(i < ADDRESSES * 10);
		assert_null(hl_live_find(&l, addr));
		insert_block(&l, addr, &n_fast)->ordinal_thread = 0;
		assert_true(take_block(&l, addr, &got, &n_fast));
		hl_live_count_age(&l, 1);
		hl_live_consider_cache(&l);
	}
	hl_live_each(&l, count_entry, seen);
	assert_int_equal(seen[0], stayed);
	force_cache_off(&l, UINT64_C(0x570000000010));
	assert_true(l.patience > 1); /* it takes longer now until the cache is restored */
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		assert_int_equal(hl_live_remove(&l, address(i), &got), i % 100 == 0);
		if (i % 100 == 0)
			assert_int_equal(hl_live_ordinal(&got), i);
	}
	hl_live_fini(&l);
}

/* The index cannot distinguish these blocks: all have the same home line and the same probe
 * sequence. */
static void blocks_with_equal_tags_are_found(void **state)
{
	enum { BLOCKS = 3000 }; /* more than the overflow count of a line can hold */
	struct hl_live_table l;
	uint64_t others;

	assert_int_equal(hl_live_init(&l, SIZE_MAX, AT_FDCWD), 0);
	force_cache_off(&l, UINT64_C(0x560000000010));
	others = hl_live_blocks(&l);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 1; i <= BLOCKS; i++) {
			assert_null(hl_live_find(&l, i << 36));
			hl_live_insert(&l, i << 36)->ordinal_thread = i << 24;
		}
		for (uint64_t i = 1; i <= BLOCKS; i++) {
			struct hl_live_entry got;

			assert_true(hl_live_remove(&l, i << 36, &got));
			assert_int_equal(hl_live_ordinal(&got), i);
			assert_null(hl_live_find(&l, i << 36));
		}
		assert_int_equal(hl_live_blocks(&l), others);
	}
	hl_live_fini(&l);
}

/* Blocks of 16 bytes without gaps: sixteen share one home line of seven slots, until the spans of
 * the heap are smaller. */
static void dense_blocks_stay_on_fast_path(void **state)
{
	enum { BLOCKS = 600000 };
	uint32_t n_fast[2] = {0}, n_uncached = 0;
	struct hl_live_entry got;
	struct hl_live_table l;

	assert_int_equal(hl_live_init(&l, SIZE_MAX, AT_FDCWD), 0);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		hl_live_continue_growth(&l, 1);
		hl_live_consider_cache(&l);
		if (l.cache) {
			hl_live_insert(&l, address(i))->ordinal_thread = (uint64_t)i << 24;
			continue;
		}
		insert_block(&l, address(i), &n_fast[0])->ordinal_thread = (uint64_t)i << 24;
		n_uncached++;
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		assert_true(take_block(&l, address(i), &got, &n_fast[1]));
		assert_int_equal(hl_live_ordinal(&got), i);
	}
	assert_int_equal(hl_live_blocks(&l), 0);
	assert_true(n_uncached > BLOCKS / 2);
	assert_true(n_fast[0] > n_uncached / 4 * 3 && n_fast[1] > BLOCKS / 4 * 3);
	hl_live_fini(&l);
}

static void entry_fields_are_packed(void **state)
{
	struct hl_live_entry e = {
		.ordinal_thread = UINT64_C(0xfedcba9876) << 24 | 0xabcdef,
		.size_time = HL_LIVE_FILTERED | HL_LIVE_SIZE_MAX << 16 | 0x1234,
		.time_node = hl_live_time_node(
			UINT64_C(0x56789abc), hl_live_origin(HL_FUNC_CALLOC, 62), 0x1adbeef),
	};

	assert_int_equal(hl_live_ordinal(&e), UINT64_C(0xfedcba9876));
	assert_int_equal(hl_live_thread(&e), 0xabcdef);
	assert_int_equal(hl_live_size(&e), HL_LIVE_SIZE_MAX);
	assert_int_equal(hl_live_node(&e), 0x1adbeef);
	assert_int_equal(hl_live_rate_id(&e), 62);
	assert_int_equal(hl_live_func(&e), HL_FUNC_UNKNOWN);
	assert_int_equal(hl_live_alloc_ns(&e), UINT64_C(0x123456789abc) * 64);
	e.time_node |= UINT32_MAX & HL_LIVE_NODE_MASK;
	assert_int_equal(hl_live_node(&e), UINT32_MAX);
	assert_int_equal(hl_live_rate_id(&e), 62);
	assert_false(hl_live_is_plain(&e));
	e.size_time = 0;
	for (uint8_t rate = 1; rate <= HL_LIVE_RATES; rate++) {
		e.time_node = hl_live_time_node(1, hl_live_origin(HL_FUNC_NEW, rate), 5);
		assert_int_equal(hl_live_rate_id(&e), rate);
		assert_int_equal(hl_live_node(&e), 5);
		assert_false(hl_live_is_plain(&e));
	}
	for (uint8_t func = 0; func < HL_FUNC_COUNT; func++) {
		e.time_node = hl_live_time_node(1, hl_live_origin(func, 0), UINT32_MAX);
		assert_int_equal(hl_live_func(&e), func);
		assert_int_equal(hl_live_rate_id(&e), 0);
		assert_int_equal(hl_live_node(&e), UINT32_MAX);
		assert_true(hl_live_is_plain(&e));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_in_memory_matches_array),
		cmocka_unit_test(table_in_file_matches_array),
		cmocka_unit_test(cached_table_matches_array),
		cmocka_unit_test(cache_is_dropped_and_restored),
		cmocka_unit_test(blocks_with_equal_tags_are_found),
		cmocka_unit_test(dense_blocks_stay_on_fast_path),
		cmocka_unit_test(entry_fields_are_packed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
