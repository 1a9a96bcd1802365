/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget_test.c - rows are left out as a whole and are counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "request/budget.h"

#define ROW "0123456789\n"

/* Writes n rows of 11 bytes, each for 3 bytes in 1 block. */
static void write_rows(struct hl_row_limit *l, FILE *out, int n)
{
	const struct hl_value one = {.bytes = 3, .blocks = 1};

	for (int i = 0; i < n; i++) {
		if (!hl_row_begin(l, out, &one))
			continue;
		fputs(ROW, out);
		hl_row_end(l);
	}
}

static char *write_all(struct hl_row_limit *l, const struct hl_budget *b, int n, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	assert_non_null(out);
	hl_row_limit_init(l, b);
	write_rows(l, out, n);
	fclose(out);
	return text;
}

static void number_of_rows_is_limited(void **state)
{
	struct hl_row_limit l;
	size_t len;
	char *text = write_all(&l, &(struct hl_budget){.max_rows = 4}, 10, &len);

	assert_int_equal(len, 4 * strlen(ROW));
	assert_int_equal(l.omitted, 6);
	assert_int_equal(l.omitted_value.bytes, 18);
	assert_int_equal(l.omitted_value.blocks, 6);
	assert_string_equal(hl_row_limit_option(&l), "--max-rows");
	free(text);
}

static void bytes_are_limited_to_whole_rows(void **state)
{
	struct hl_row_limit l;
	size_t len;
	char *text = write_all(&l, &(struct hl_budget){.max_bytes = 4096}, 1000, &len);

	assert_true(len > 0 && len <= 4096 && len % strlen(ROW) == 0);
	assert_int_equal(l.omitted, 1000 - len / strlen(ROW));
	assert_int_equal(l.omitted_value.bytes, 3 * l.omitted);
	assert_string_equal(hl_row_limit_option(&l), "--max-bytes");
	free(text);
}

static void what_fits_is_not_limited(void **state)
{
	struct hl_row_limit l;
	size_t len;
	char *text = write_all(
		&l, &(struct hl_budget){.max_rows = 10, .max_bytes = UINT64_MAX / 2}, 10, &len);

	assert_int_equal(len, 10 * strlen(ROW));
	assert_null(hl_row_limit_option(&l));
	assert_int_equal(hl_row_limit_left(&l), 0);
	free(text);
	text = write_all(&l, &(struct hl_budget){0}, 10, &len);
	assert_int_equal(len, 10 * strlen(ROW));
	assert_true(hl_row_limit_left(&l) == UINT64_MAX);
	free(text);
	assert_true(hl_row_begin(NULL, NULL, NULL) && hl_row_end(NULL));
}

static void limit_is_that_of_all_results_together(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct hl_row_limit l;

	hl_row_limit_init(&l, &(struct hl_budget){.max_rows = 5});
	write_rows(&l, out, 3);
	assert_null(hl_row_limit_option(&l));
	hl_row_limit_reset(&l);
	write_rows(&l, out, 3);
	assert_int_equal(l.omitted, 1);
	hl_row_limit_reset(&l);
	hl_row_omit(&l, 2, NULL);
	assert_true(l.no_values && l.omitted == 2);
	fclose(out);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(number_of_rows_is_limited),
		cmocka_unit_test(bytes_are_limited_to_whole_rows),
		cmocka_unit_test(what_fits_is_not_limited),
		cmocka_unit_test(limit_is_that_of_all_results_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
