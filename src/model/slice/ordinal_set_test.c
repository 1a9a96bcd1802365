/* SPDX-License-Identifier: Apache-2.0 */
/* ordinal_set_test.c - membership and ranks against a plain count. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "model/slice/ordinal_set.h"

#define N 200000u

static void ranks_equal_plain_count(void **state)
{
	struct hl_ordinal_set k = {0};
	uint64_t rank = 0;

	for (uint64_t i = 0; i < N; i++)
		if (hl_hash_u64(i) % 3 == 0 && (i < 40000 || i > 120000)) /* some pages are empty */
			assert_int_equal(hl_ordinal_set_add(&k, i), 0);
	hl_ordinal_set_count(&k);
	for (uint64_t i = 0; i < N; i++) {
		bool in = hl_hash_u64(i) % 3 == 0 && (i < 40000 || i > 120000);

		assert_int_equal(hl_ordinal_set_has(&k, i), in);
		if (in)
			assert_int_equal(hl_ordinal_set_rank(&k, i), rank++);
	}
	assert_false(hl_ordinal_set_has(&k, UINT64_MAX));
	hl_ordinal_set_fini(&k);
}

static void too_large_ordinals_are_refused(void **state)
{
	struct hl_ordinal_set k = {0};

	assert_int_equal(hl_ordinal_set_add(&k, UINT64_MAX), -EBADMSG);
	assert_int_equal(hl_ordinal_set_add(&k, UINT64_C(1) << 36), -EBADMSG);
	assert_int_equal(hl_ordinal_set_add(&k, (UINT64_C(1) << 36) - 1), 0);
	hl_ordinal_set_count(&k);
	assert_int_equal(hl_ordinal_set_rank(&k, (UINT64_C(1) << 36) - 1), 0);
	hl_ordinal_set_fini(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_equal_plain_count),
		cmocka_unit_test(too_large_ordinals_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
