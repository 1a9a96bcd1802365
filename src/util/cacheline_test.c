/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cacheline_test.c - a flush affects only speed: it changes neither the bytes nor the pages around
 * them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "util/cacheline.h"

enum { PAGE = 4096 };

/* A page between two inaccessible pages. Even a flush of a line in those would fault. */
static char *new_guarded_page(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	return p + PAGE;
}

static void flush_changes_no_bytes_and_touches_no_other_page(void **state)
{
	char *page = new_guarded_page(), wanted[PAGE];

	(void)state;
	for (int i = 0; i < PAGE; i++)
		wanted[i] = page[i] = (char)(i * 7);
	for (size_t from = 0; from <= 130; from++)
		for (size_t n = 0; n <= 130; n++) {
			hl_cacheline_flush(page + from, n);
			hl_cacheline_flush(page + PAGE - from - n, n);
		}
	hl_cacheline_flush(page, PAGE);
	assert_memory_equal(page, wanted, PAGE);
	munmap(page - PAGE, 3 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flush_changes_no_bytes_and_touches_no_other_page)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
