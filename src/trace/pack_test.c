/* Columns come back as they were, whichever way they were packed, and by the way that pays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/attr.h"
#include "trace/pack_internal.h"

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

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * n) >> 32);
}

/* Small numbers in no order, as steps of time are: most of them 0. */
static void fill_steps(void)
{
	for (uint32_t i = 0; i < LEN; i++)
		raw[i] = (uint8_t)(rnd(3) ? rnd(2) : rnd(9));
}

/* Lines of 50 bytes that come again and again. */
static void fill_lines(void)
{
	for (uint32_t i = 0; i < LEN; i++)
		raw[i] = i < 4000 ? (uint8_t)rnd(200) : raw[i - 50 * (1 + i % 2)];
}

/* Packs len bytes and looks at what a reader would see. */
static size_t pack(uint16_t id, size_t len)
{
	size_t room = hl_pack_room(len), n;
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

static size_t by_level_one(void)
{
	size_t room = ZSTD_compressBound(LEN), n;
	uint8_t *to = malloc(room);

	n = ZSTD_compress(to, room, raw, LEN, 1);
	free(to);
	return n;
}

static void steps_are_counted(void **state)
{
	size_t matched;

	fill_steps();
	matched = by_level_one();
	for (unsigned i = 0; i < 2 * HL_PACK_AGAIN; i++)
		assert_true(pack(ID, LEN) <= matched + matched / 16);
	assert_true(packer.ways[ID].counts);
	assert_false(packer.ways[ID + 1].counts);
}

static void what_comes_again_is_matched(void **state)
{
	fill_lines();
	for (unsigned i = 0; i < 2 * HL_PACK_AGAIN; i++)
		assert_int_equal(pack(ID, LEN), by_level_one());
	assert_false(packer.ways[ID].counts);
}

/* A program whose blocks were of any size begins to make them in rows. */
static void a_change_is_seen(void **state)
{
	fill_steps();
	pack(ID, LEN);
	pack(ID, LEN);
	assert_true(packer.ways[ID].counts);
	fill_lines();
	pack(ID, LEN);
	assert_int_equal(pack(ID, LEN), by_level_one());
	assert_false(packer.ways[ID].counts);
}

static void any_length(void **state)
{
	static const size_t lens[] = {0, 1, 31, 32, 33, 1023, 1024, 1025, LEN};
	static const uint16_t ids[] = {0, ID, HL_PACK_IDS - 1, HL_PACK_IDS, UINT16_MAX};

	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < LEN; i++)
			raw[i] = (uint8_t)(round == 0 ? 0 : round == 1 ? rnd(256) : i % 7);
		for (size_t i = 0; i < HL_ARRAY_LEN(lens); i++)
			for (size_t k = 0; k < HL_ARRAY_LEN(ids); k++)
				pack(ids[k], lens[i]);
	}
}

/* Bytes without any order become no more, and nothing is written behind the room there is. */
static void noise_stays(void **state)
{
	for (size_t i = 0; i < LEN; i++)
		raw[i] = (uint8_t)rnd(256);
	for (unsigned i = 0; i < HL_PACK_AGAIN + 2; i++)
		assert_int_equal(pack(ID, LEN), LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(steps_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_comes_again_is_matched, setup, teardown),
		cmocka_unit_test_setup_teardown(a_change_is_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(any_length, setup, teardown),
		cmocka_unit_test_setup_teardown(noise_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
