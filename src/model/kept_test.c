/* kept_test.c - which blocks are kept, and their new ordinals, against a plain list. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "model/kept.h"

#define N 200000u

static void test_ranks(void **state)
{
	struct hl_kept k = {0};
	uint64_t rank = 0;

	for (uint64_t i = 0; i < N; i++)
		if (hl_hash_u64(i) % 3 == 0 && (i < 40000 || i > 120000)) /* whole pages of none */
			assert_int_equal(hl_kept_add(&k, i), 0);
	hl_kept_count(&k);
	for (uint64_t i = 0; i < N; i++) {
		bool in = hl_hash_u64(i) % 3 == 0 && (i < 40000 || i > 120000);

		assert_int_equal(hl_kept_has(&k, i), in);
		if (in)
			assert_int_equal(hl_kept_rank(&k, i), rank++);
	}
	assert_false(hl_kept_has(&k, UINT64_MAX));
	hl_kept_fini(&k);
}

static void test_limit(void **state)
{
	struct hl_kept k = {0};

	assert_int_equal(hl_kept_add(&k, UINT64_MAX), -EBADMSG);
	assert_int_equal(hl_kept_add(&k, UINT64_C(1) << 36), -EBADMSG);
	assert_int_equal(hl_kept_add(&k, (UINT64_C(1) << 36) - 1), 0);
	hl_kept_count(&k);
	assert_int_equal(hl_kept_rank(&k, (UINT64_C(1) << 36) - 1), 0);
	hl_kept_fini(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
