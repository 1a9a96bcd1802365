/* SPDX-License-Identifier: Apache-2.0 */
/* record_length_test.c - lengths of records, whatever the words are. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "collect/drain/record_length.h"
#include "ring/ring_record.h"

static void each_record_type_has_its_length(void **state)
{
	const struct {
		uint64_t words[8];
		uint32_t len;
	} cases[] = {
		{{HL_REC_FREE, 0x1000}, 2},
		{{HL_REC_ALLOC, 0x1000, hl_stack_word(32, 0, 5)}, 3},
		{{HL_REC_ALLOC, 0x1000, hl_stack_word(32, 4, 0)}, 7},
		{{HL_REC_ALLOC, 0x1000, hl_stack_word(HL_SIZE_BIG, 1, 0)}, 5},
		{{HL_REC_ALLOC_STACK_ID, 0x1000, hl_stack_word(32, 3, 2), 7}, 7},
		{{HL_REC_ALLOC_STACK_ID, 0x1000, hl_stack_word(HL_SIZE_BIG, 3, 2), 7}, 8},
		{{HL_REC_MOVE_END, 0x1000, hl_stack_word(8, 2, 0), 0x2000}, 6},
		{{HL_REC_STACK, hl_stack_word(HL_STACK_FIRST_PART, 6, 0)}, 8},
		{{HL_REC_PROCESS, 1}, 2},
		{{HL_REC_MARK, HL_MARK_MARK | 17u << 8}, 5},
		{{HL_REC_MODULE, 0, 0, 0, 8u << 8 | 9u << 16}, 8},
		/* not records */
		{{HL_REC_NONE}, 0},
		{{HL_REC_COUNT, 1, 2}, 0},
		{{31, 1, 2}, 0},
		/* longer than the words available */
		{{HL_REC_ALLOC, 0x1000, hl_stack_word(32, 6, 0)}, 0},
		{{HL_REC_MARK, 60000u << 8}, 0},
		{{HL_REC_MODULE, 0, 0, 0, UINT64_C(0xffffffff)}, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(hl_record_length(cases[i].words, 8), cases[i].len);
}

static void length_stays_within_the_input(void **state)
{
	uint64_t words[16];

	srand(1);
	for (int round = 0; round < 1000000; round++) {
		uint64_t n = (uint64_t)rand() % 16 + 1;

		for (uint64_t i = 0; i < n; i++)
			words[i] = (uint64_t)rand() << (rand() % 40) | (uint64_t)rand();
		assert_true(hl_record_length(words, n) <= n);
	}
}

/* Counting all records at once gives the same result as one by one, whatever the words are and
 * wherever they end. */
static void whole_records_are_counted(void **state)
{
	static const uint8_t types[] = {HL_REC_FREE, HL_REC_ALLOC, HL_REC_ALLOC, HL_REC_MOVE_END,
		HL_REC_ALLOC_STACK_ID, HL_REC_NONE};
	uint64_t words[64];

	srand(2);
	for (int round = 0; round < 100000; round++) {
		uint64_t n = (uint64_t)rand() % 65, i = 0, events = 0, found = 0;
		uint32_t len;

		for (uint64_t k = 0; k < n; k++)
			words[k] = (uint64_t)rand() % 4 << HL_SIZE_BITS | (uint64_t)rand() << 5 |
				   types[(size_t)rand() % sizeof(types)];
		for (; i < n && (len = hl_record_length(words + i, n - i)); i += len)
			events += hl_record_events(words + i);
		assert_int_equal(hl_records_count_whole(words, n, &found), i);
		assert_int_equal(found, events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_type_has_its_length),
		cmocka_unit_test(length_stays_within_the_input),
		cmocka_unit_test(whole_records_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
