/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_test.c - wrapping to a width, and the detection of colours and size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/terminal/terminal.h"
#include "util/terminal/wrap.h"

static const struct {
	const char *text;
	unsigned column, indent, width;
	const char *want;
} wraps[] = {
	{"", 0, 0, 10, "\n"},
	{"one two three", 0, 0, 0, "one two three\n"},
	{"one two three", 0, 0, 7, "one two\nthree\n"},
	{"one two three", 0, 2, 7, "one two\n  three\n"},
	{"one two", 5, 5, 9, "one\n     two\n"},
	{"  one   two ", 0, 0, 80, "one two\n"},
	{"at most 70.7 MiB, then", 0, 0, 14, "at most\n70.7 MiB, then\n"},
	{"it has 95 % of all", 0, 0, 9, "it has\n95 % of\nall\n"},
	{"it has 95 times", 0, 0, 9, "it has 95\ntimes\n"},
	{"a unsplittable b", 0, 1, 6, "a\n unsplittable\n b\n"},
	{"\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\xa4", 0, 0, 5, "\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\xa4\n"},
};

static void test_wrap(void **state)
{
	for (size_t i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++) {
		char *got = NULL;
		size_t len;
		FILE *out = open_memstream(&got, &len);
		unsigned lines = 0;

		hl_wrap(out, wraps[i].text, wraps[i].column, wraps[i].indent, wraps[i].width);
		fclose(out);
		assert_string_equal(got, wraps[i].want);
		for (const char *c = got; *c; c++)
			lines += *c == '\n';
		assert_int_equal(hl_wrap_lines(wraps[i].text, wraps[i].column, wraps[i].indent,
					 wraps[i].width),
			lines);
		free(got);
	}
}

static void test_paragraphs(void **state)
{
	char *got = NULL;
	size_t len;
	FILE *out = open_memstream(&got, &len);

	hl_wrap_paragraphs(out, "one\ntwo\n  as  it  is\n\nthree four\n", 1, 10);
	fclose(out);
	assert_string_equal(got, " one two\n   as  it  is\n\n three\n four\n");
	free(got);
}

static void test_colors(void **state)
{
	unsetenv("NO_COLOR");
	unsetenv("FORCE_COLOR");
	unsetenv("CLICOLOR_FORCE");
	assert_false(hl_term_colors(-1, HL_COLOR_AUTO));
	setenv("CLICOLOR_FORCE", "0", 1);
	assert_false(hl_term_colors(-1, HL_COLOR_AUTO));
	setenv("CLICOLOR_FORCE", "1", 1);
	assert_true(hl_term_colors(-1, HL_COLOR_AUTO));
	setenv("NO_COLOR", "", 1);
	assert_true(hl_term_colors(-1, HL_COLOR_AUTO));
	setenv("NO_COLOR", "1", 1);
	assert_false(hl_term_colors(-1, HL_COLOR_AUTO));
	assert_true(hl_term_colors(-1, HL_COLOR_ALWAYS));
	assert_string_equal(hl_style_sequence(HL_STYLE_RED), "\033[31m");
	unsetenv("NO_COLOR");
	assert_false(hl_term_colors(-1, HL_COLOR_NEVER));
}

static void test_width(void **state)
{
	setenv("COLUMNS", "123", 1);
	assert_int_equal(hl_term_width(-1), 123);
	setenv("COLUMNS", "99999999999999999999999", 1);
	assert_int_equal(hl_term_width(-1), 10000);
	setenv("COLUMNS", "12x", 1);
	assert_int_equal(hl_term_width(-1), 0);
	unsetenv("COLUMNS");
	assert_int_equal(hl_term_width(-1), 0);
	assert_int_equal(hl_term_height(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_paragraphs),
		cmocka_unit_test(test_colors),
		cmocka_unit_test(test_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
