/* SPDX-License-Identifier: Apache-2.0 */
/* live_copy_test.c - a copy has the blocks of the moment when it began, whatever happens to the
 * table meanwhile. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/hash.h"
#include "collect/match/live_copy.h"

#define BLOCKS 200000u

struct table {
	struct hl_live_table l;
	uint64_t addr[BLOCKS];
	uint64_t ordinal[BLOCKS]; /* UINT64_MAX: not live */
	uint64_t next, random;
};

static void insert(struct table *t, uint32_t i)
{
	struct hl_live_entry *e;

	t->addr[i] = 0x7f0000000000 + (hl_hash_u64(t->random + i) % (BLOCKS * 4)) * 64;
	if (hl_live_find(&t->l, t->addr[i]))
		return;
	e = hl_live_insert(&t->l, t->addr[i]);
	assert_non_null(e);
	t->ordinal[i] = t->next++;
	e->ordinal_thread = t->ordinal[i] << 24 | 5;
	e->size_time = (t->ordinal[i] & 1023) << 16;
	e->time_node = hl_live_time_node(t->ordinal[i], 3, 7);
}

static void take(struct table *t, uint32_t i, struct hl_live_copy *c)
{
	struct hl_live_entry e;

	assert_true(hl_live_remove(&t->l, t->addr[i], &e));
	if (c)
		hl_live_copy_keep(c, &e);
	t->ordinal[i] = UINT64_MAX;
}

static void churn(struct table *t, uint32_t n, struct hl_live_copy *c)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i;

		t->random = t->random * 6364136223846793005u + 1442695040888963407u;
		i = (uint32_t)(t->random >> 33) % BLOCKS;

		if (t->ordinal[i] != UINT64_MAX)
			take(t, i, c);
		else
			insert(t, i);
	}
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* memory_limit 0: the table and the copy are in files. */
static void check_copy(size_t memory_limit)
{
	struct table *t = malloc(sizeof(*t));
	uint64_t *expected = malloc(BLOCKS * sizeof(*expected)), n = 0;
	struct hl_live_copy c;
	uint32_t steps = 0;
	int dir = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	t->next = t->random = 0;
	assert_int_equal(hl_live_init(&t->l, memory_limit, dir), 0);
	for (uint32_t i = 0; i < BLOCKS; i++)
		t->ordinal[i] = UINT64_MAX;
	churn(t, 4 * BLOCKS, NULL);
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (t->ordinal[i] != UINT64_MAX)
			expected[n++] = t->ordinal[i];
	qsort(expected, n, sizeof(*expected), compare);

	assert_int_equal(hl_live_copy_begin(&c, &t->l, t->next, n), 0);
	while (!hl_live_copy_step(&c, &t->l, 500)) {
		churn(t, 2000, &c);
		steps++;
	}
	assert_true(steps > 20);
	churn(t, BLOCKS, NULL);
	assert_int_equal(hl_live_copy_sort(&c), 0);
	assert_int_equal(c.n, n);
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(hl_live_ordinal(&c.entries[i]), expected[i]);
		assert_int_equal(hl_live_alloc_ns(&c.entries[i]), expected[i] * 64);
		assert_int_equal(hl_live_size(&c.entries[i]), expected[i] & 1023);
		assert_int_equal(hl_live_func(&c.entries[i]), 3);
	}
	hl_live_copy_fini(&c);
	hl_live_fini(&t->l);
	free(expected);
	free(t);
}

static void copy_is_of_the_moment_when_it_began(void **state)
{
	check_copy(SIZE_MAX);
}

static void copy_above_the_memory_limit_is_in_a_file(void **state)
{
	check_copy(0);
}

static void missing_block_is_detected(void **state)
{
	struct table *t = malloc(sizeof(*t));
	struct hl_live_copy c;

	t->next = 0;
	assert_int_equal(hl_live_init(&t->l, SIZE_MAX, -1), 0);
	for (uint32_t i = 0; i < 100; i++)
		insert(t, i);
	assert_int_equal(hl_live_copy_begin(&c, &t->l, t->next, hl_live_blocks(&t->l) + 1), 0);
	assert_true(hl_live_copy_step(&c, &t->l, UINT32_MAX));
	assert_int_equal(hl_live_copy_sort(&c), -EIO);
	hl_live_copy_fini(&c);
	hl_live_fini(&t->l);
	free(t);
}

static void empty_table_gives_an_empty_copy(void **state)
{
	struct hl_live_table l;
	struct hl_live_copy c;

	assert_int_equal(hl_live_init(&l, SIZE_MAX, -1), 0);
	assert_int_equal(hl_live_copy_begin(&c, &l, 0, 0), 0);
	assert_true(hl_live_copy_step(&c, &l, 1));
	assert_int_equal(hl_live_copy_sort(&c), 0);
	assert_int_equal(c.n, 0);
	hl_live_copy_fini(&c);
	hl_live_fini(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_is_of_the_moment_when_it_began),
		cmocka_unit_test(copy_above_the_memory_limit_is_in_a_file),
		cmocka_unit_test(missing_block_is_detected),
		cmocka_unit_test(empty_table_gives_an_empty_copy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
