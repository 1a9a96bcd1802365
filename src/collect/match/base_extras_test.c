/* SPDX-License-Identifier: Apache-2.0 */
/* base_extras_test.c - the side events that a base repeats. Mappings are compared with an array of
 * pages. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/hash.h"
#include "collect/match/base_extras.h"

#define PAGE  UINT64_C(4096)
#define PAGES 300u
#define BASE  UINT64_C(0x7f0000000000)

static struct hl_extra mapping(uint8_t kind, uint64_t page, uint64_t n, uint64_t value)
{
	return (struct hl_extra){
		.kind = kind, .addr = BASE + page * PAGE, .size = n * PAGE, .value = value};
}

static void last_name_of_each_owner_is_kept(void **state)
{
	struct hl_base_extras b = {0};
	hl_extras list = {0};
	struct hl_extra x = {.kind = HL_EXTRA_THREAD_NAME, .thread = 3, .text = "first"};

	hl_base_extras_note(&b, &x);
	x = (struct hl_extra){.kind = HL_EXTRA_POOL, .value = 3, .text = "pool"};
	hl_base_extras_note(&b, &x);
	x = (struct hl_extra){
		.kind = HL_EXTRA_THREAD_NAME, .thread = 3, .text = "second", .time_ns = 640};
	hl_base_extras_note(&b, &x);
	assert_int_equal(hl_base_extras_list(&b, &list), 0);
	assert_int_equal(hl_extras_sort(&list), 0);
	assert_int_equal(list.len, 2);
	assert_string_equal(list.data[0].text, "pool");
	assert_string_equal(list.data[1].text, "second");
	hl_vec_free(&list);
	hl_base_extras_fini(&b);
}

static void marks_are_not_repeated(void **state)
{
	struct hl_base_extras b = {0};
	hl_extras list = {0};
	static const uint8_t kinds[] = {HL_EXTRA_MARK, HL_EXTRA_SNAPSHOT, HL_EXTRA_DROPPED,
		HL_EXTRA_UNKNOWN_FREE, HL_EXTRA_MODE, HL_EXTRA_STOP, HL_EXTRA_START};

	for (size_t i = 0; i < sizeof(kinds); i++)
		hl_base_extras_note(&b, &(struct hl_extra){.kind = kinds[i], .value = i});
	assert_int_equal(hl_base_extras_list(&b, &list), 0);
	assert_int_equal(list.len, 2);
	assert_int_equal(list.data[0].kind, HL_EXTRA_MODE);
	assert_int_equal(list.data[1].kind, HL_EXTRA_START);
	hl_vec_free(&list);
	hl_base_extras_fini(&b);
}

/* Each page has the value of the mmap that it belongs to; 0: not mapped. */
static void compare_pages(const struct hl_base_extras *b, const uint64_t *pages)
{
	uint64_t found[PAGES] = {0};
	hl_extras list = {0};

	assert_int_equal(hl_base_extras_list(b, &list), 0);
	for (size_t i = 0; i < list.len; i++)
		for (uint64_t k = 0; k < list.data[i].size / PAGE; k++) {
			uint64_t page = (list.data[i].addr - BASE) / PAGE + k;

			assert_true(page < PAGES && found[page] == 0);
			found[page] = list.data[i].value;
		}
	assert_memory_equal(found, pages, sizeof(found));
	hl_vec_free(&list);
}

static void set_pages(uint64_t *pages, uint64_t from, uint64_t n, uint64_t value)
{
	for (uint64_t i = from; i < from + n; i++)
		pages[i] = value;
}

static void mappings_match_an_array_of_pages(void **state)
{
	struct hl_base_extras b = {0};
	uint64_t pages[PAGES] = {0}, random = 1;

	for (uint64_t i = 1; i < 5000; i++) {
		uint64_t from = (random = hl_hash_u64(random)) % (PAGES - 30),
			 n = 1 + (random >> 20) % 30, what = (random >> 40) % 4, to, moved;
		struct hl_extra x = mapping(HL_EXTRA_MMAP, from, n, i);

		if (what == 0)
			x.kind = HL_EXTRA_MUNMAP;
		if (what < 3) {
			hl_base_extras_note(&b, &x);
			set_pages(pages, from, n, what == 0 ? 0 : i);
		} else if (pages[from]) { /* the first page moves and grows */
			to = (random >> 8) % (PAGES - 30);
			moved = pages[from];
			x = mapping(HL_EXTRA_MREMAP, to, n, BASE + from * PAGE);
			x.value2 = PAGE;
			hl_base_extras_note(&b, &x);
			pages[from] = 0;
			set_pages(pages, to, n, moved);
		}
		compare_pages(&b, pages);
	}
	hl_base_extras_fini(&b);
}

static void failed_munmap_is_undone(void **state)
{
	struct hl_base_extras b = {0};
	uint64_t pages[PAGES] = {0};
	struct hl_extra x = mapping(HL_EXTRA_MMAP, 10, 5, 77);

	hl_base_extras_note(&b, &x);
	x = mapping(HL_EXTRA_MUNMAP, 12, 1, 0);
	hl_base_extras_note(&b, &x);
	x = mapping(HL_EXTRA_MMAP, 12, 1, 0);
	hl_base_extras_note(&b, &x);
	set_pages(pages, 10, 5, 77);
	compare_pages(&b, pages);
	hl_base_extras_fini(&b);
}

static void hostile_ranges_are_harmless(void **state)
{
	static const uint64_t values[] = {0, 1, PAGE - 1, PAGE, PAGE + 1, UINT64_MAX / 2,
		UINT64_MAX - PAGE, UINT64_MAX - 1, UINT64_MAX};
	struct hl_base_extras b = {0};
	uint64_t random = 7;

	for (int i = 0; i < 20000; i++) {
		struct hl_extra x = {.kind = (uint8_t)(HL_EXTRA_MMAP + hl_hash_u64(random++) % 3)};

		x.addr = values[hl_hash_u64(random++) % 9] + (uint64_t)i % 3 * 8000;
		x.size = values[hl_hash_u64(random++) % 9];
		x.value = values[hl_hash_u64(random++) % 9];
		x.value2 = values[hl_hash_u64(random++) % 9];
		hl_base_extras_note(&b, &x);
	}
	hl_base_extras_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_name_of_each_owner_is_kept),
		cmocka_unit_test(marks_are_not_repeated),
		cmocka_unit_test(mappings_match_an_array_of_pages),
		cmocka_unit_test(failed_munmap_is_undone),
		cmocka_unit_test(hostile_ranges_are_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
