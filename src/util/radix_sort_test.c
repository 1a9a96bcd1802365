/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort_test.c - compares with qsort, for keys that differ in few and in many digits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "util/radix_sort.h"

enum { MANY = 5000 };

static struct hl_radix_item items[MANY], spare[MANY], wanted[MANY];

/* Orders equal keys by value, which rises with the index. So qsort gives the order of a stable sort
 * too. */
static int compare_items(const void *a, const void *b)
{
	const struct hl_radix_item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static void check_sort(size_t n, uint64_t mask)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t random =
			(uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();

		items[i].key = wanted[i].key = UINT64_C(0x7f1200345000) ^ (random & mask);
		items[i].value = wanted[i].value = &items[i];
	}
	hl_radix_sort(items, spare, n);
	qsort(wanted, n, sizeof(*wanted), compare_items);
	for (size_t i = 0; i < n; i++) {
		assert_true(items[i].key == wanted[i].key);
		assert_ptr_equal(items[i].value, wanted[i].value);
	}
}

static void result_equals_that_of_qsort(void **state)
{
	static const uint64_t masks[] = {0, 3, 0x7f0, 0xfffff0, UINT64_C(0xff00000000f0),
		UINT64_C(0xffffffffffff), UINT64_MAX};

	srand(11);
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		for (size_t n = 0; n <= MANY; n = n * 5 + 1)
			check_sort(n, masks[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(result_equals_that_of_qsort)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
