/* SPDX-License-Identifier: Apache-2.0 */
/*
 * column_pack_test.c - packed columns unpack to the same bytes, and the cheaper method is chosen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/attr.h"
#include "trace/format/column_pack_internal.h"

#define LEN 40000u
#define ID  31u

static struct hl_packer packer;
static uint8_t raw[LEN];
static uint32_t seed;

static int setup(void **state)
{
	seed = 1;
	return hl_packer_init(&packer);
}

static int teardown(void **state)
{
	hl_packer_fini(&packer);
	return 0;
}

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * n) >> 32);
}

/* Small values without order, like time steps. Most are 0. */
static void fill_steps(void)
{
	for (uint32_t i = 0; i < LEN; i++)
		raw[i] = (uint8_t)(random_below(3) ? random_below(2) : random_below(9));
}

/* Lines of 50 bytes that repeat. */
static void fill_lines(void)
{
	for (uint32_t i = 0; i < LEN; i++)
		raw[i] = i < 4000 ? (uint8_t)random_below(200) : raw[i - 50 * (1 + i % 2)];
}

/* Packs len bytes and checks that they unpack to the same bytes. */
static size_t pack(uint16_t id, size_t len)
{
	size_t room = hl_pack_bound(len), n;
	uint8_t *to = malloc(room), *back = malloc(len ? len : 1);

	n = hl_pack(&packer, id, to, room, raw, len);
	assert_true(n <= len);
	if (n < len) {
		assert_int_equal(ZSTD_decompress(back, len, to, n), len);
		assert_memory_equal(back, raw, len);
	}
	free(to);
	free(back);
	return n;
}

static size_t pack_at_level_1(void)
{
	size_t room = ZSTD_compressBound(LEN), n;
	uint8_t *to = malloc(room);

	n = ZSTD_compress(to, room, raw, LEN, 1);
	free(to);
	return n;
}

static void unordered_values_are_entropy_coded_only(void **state)
{
	size_t matched;

	fill_steps();
	matched = pack_at_level_1();
	for (unsigned i = 0; i < 2 * HL_PACK_TRIAL_INTERVAL; i++)
		assert_true(pack(ID, LEN) <= matched + matched / 16);
	assert_true(packer.methods[ID].entropy_only);
	assert_false(packer.methods[ID + 1].entropy_only);
}

static void repeated_lines_are_matched(void **state)
{
	fill_lines();
	for (unsigned i = 0; i < 2 * HL_PACK_TRIAL_INTERVAL; i++)
		assert_int_equal(pack(ID, LEN), pack_at_level_1());
	assert_false(packer.methods[ID].entropy_only);
}

/* Blocks of unordered sizes, then sizes that repeat. */
static void changed_content_causes_a_new_trial(void **state)
{
	fill_steps();
	pack(ID, LEN);
	pack(ID, LEN);
	assert_true(packer.methods[ID].entropy_only);
	fill_lines();
	pack(ID, LEN);
	assert_int_equal(pack(ID, LEN), pack_at_level_1());
	assert_false(packer.methods[ID].entropy_only);
}

static void all_lengths_round_trip(void **state)
{
	static const size_t lens[] = {0, 1, 31, 32, 33, 1023, 1024, 1025, LEN};
	static const uint16_t ids[] = {0, ID, HL_PACK_IDS - 1, HL_PACK_IDS, UINT16_MAX};

	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < LEN; i++)
			raw[i] = (uint8_t)(round == 0 ? 0 : round == 1 ? random_below(256) : i % 7);
		for (size_t i = 0; i < HL_ARRAY_LEN(lens); i++)
			for (size_t k = 0; k < HL_ARRAY_LEN(ids); k++)
				pack(ids[k], lens[i]);
	}
}

/* Random bytes are never longer when packed, and nothing is written beyond the buffer. */
static void noise_is_not_packed(void **state)
{
	for (size_t i = 0; i < LEN; i++)
		raw[i] = (uint8_t)random_below(256);
	for (unsigned i = 0; i < HL_PACK_TRIAL_INTERVAL + 2; i++)
		assert_int_equal(pack(ID, LEN), LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			unordered_values_are_entropy_coded_only, setup, teardown),
		cmocka_unit_test_setup_teardown(repeated_lines_are_matched, setup, teardown),
		cmocka_unit_test_setup_teardown(
			changed_content_causes_a_new_trial, setup, teardown),
		cmocka_unit_test_setup_teardown(all_lengths_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(noise_is_not_packed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
