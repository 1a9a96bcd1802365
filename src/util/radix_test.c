/* radix_test.c - against a plain sort, with keys that differ in few and in many digits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "util/radix.h"

enum { MANY = 5000 };

static struct hl_keyed things[MANY], spare[MANY], wanted[MANY];

/* Equal keys by what stands with them, which grows: so the plain sort keeps their order too. */
static int by_key(const void *a, const void *b)
{
	const struct hl_keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static void sorts(size_t n, uint64_t mask)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t random =
			(uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();

		things[i].key = wanted[i].key = UINT64_C(0x7f1200345000) ^ (random & mask);
		things[i].value = wanted[i].value = &things[i];
	}
	hl_radix_sort(things, spare, n);
	qsort(wanted, n, sizeof(*wanted), by_key);
	for (size_t i = 0; i < n; i++) {
		assert_true(things[i].key == wanted[i].key);
		assert_ptr_equal(things[i].value, wanted[i].value);
	}
}

static void like_a_plain_sort(void **state)
{
	static const uint64_t masks[] = {0, 3, 0x7f0, 0xfffff0, UINT64_C(0xff00000000f0),
		UINT64_C(0xffffffffffff), UINT64_MAX};

	srand(11);
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		for (size_t n = 0; n <= MANY; n = n * 5 + 1)
			sorts(n, masks[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(like_a_plain_sort)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
