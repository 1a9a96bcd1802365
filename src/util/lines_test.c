/* lines_test.c - nothing but time may change: neither what lies there, nor what is around it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "util/lines.h"

enum { PAGE = 4096 };

/* A page between two that nobody may touch: not even to let go of them. */
static char *lonely_page(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	return p + PAGE;
}

static void stays_within(void **state)
{
	char *page = lonely_page(), wanted[PAGE];

	(void)state;
	for (int i = 0; i < PAGE; i++)
		wanted[i] = page[i] = (char)(i * 7);
	for (size_t from = 0; from <= 130; from++)
		for (size_t n = 0; n <= 130; n++) {
			hl_lines_let_go(page + from, n);
			hl_lines_let_go(page + PAGE - from - n, n);
		}
	hl_lines_let_go(page, PAGE);
	assert_memory_equal(page, wanted, PAGE);
	munmap(page - PAGE, 3 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(stays_within)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
