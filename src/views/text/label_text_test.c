/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_text_test.c - labels in a room: which of name, file and module stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "views/text/text_internal.h"

#define READ_TEXTUAL "ledger::journal_t::read_textual(ledger::parse_context_stack_t&)"

static const struct hl_frame in_library = {.function = READ_TEXTUAL,
	.display_name = READ_TEXTUAL,
	.module = "/usr/lib/libledger.so.3"};
static const struct hl_frame in_file = {.function = READ_TEXTUAL,
	.display_name = READ_TEXTUAL,
	.file = "/src/ledger/textual.cc",
	.line = 2038};

/* The caller frees the text. */
static char *shown(const struct hl_label *l, unsigned width, bool unicode)
{
	struct hl_text_opts opts = {.shorten = true, .width = width, .unicode = unicode};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	hl_put_label(out, l, &opts);
	fclose(out);
	return text;
}

static void the_function_outlives_its_module(void **state)
{
	static const struct {
		const struct hl_frame *frame;
		unsigned width;
		bool unicode;
		const char *text;
	} cases[] = {
		{&in_library, 100, true, READ_TEXTUAL "  [libledger.so.3]"},
		{&in_library, 60, true, "ledger::journal_t::read_textual(…)  [libledger.so.3]"},
		{&in_library, 48, true, "…::journal_t::read_textual(…)  [libledger.so.3]"},
		{&in_library, 40, true, "ledger::journal_t::read_textual(…)"},
		{&in_library, 24, true, "…::read_textual"},
		{&in_library, 24, false, "...::read_textual"},
		{&in_library, 14, true, "read_textual"},
		{&in_file, 60, true, "ledger::journal_t::read_textual(…)  textual.cc:2038"},
		{&in_file, 40, true, "…::read_textual  textual.cc:2038"},
		{&in_file, 24, true, "read_textual  te…cc:2038"},
		{&in_file, 20, true, "read_textual  t…2038"},
		{&in_file, 18, true, "read_textual"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_label label = {.frame = cases[i].frame};
		char *text = shown(&label, cases[i].width, cases[i].unicode);

		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

/* Siblings that would look the same show their difference: of the names, else of the modules. */
static void siblings_look_different(void **state)
{
	static const struct hl_frame frames[] = {
		{.function = "std::vector<long>::push_back(long const&)",
			.file = "/v.h",
			.line = 7},
		{.function = "std::vector<char>::push_back(char const&)",
			.file = "/v.h",
			.line = 7},
		{.function = "north::warehouse::restock(int)", .file = "/w.c", .line = 7},
		{.function = "south::warehouse::restock(int)", .file = "/w.c", .line = 7},
		{.function = "a_plain_function_of_c", .module = "/lib/libnorth.so"},
		{.function = "a_plain_function_of_c", .module = "/lib/libsouth.so"},
	};

	for (unsigned width = 30; width < 60; width++) {
		struct hl_label labels[HL_ARRAY_LEN(frames)] = {0};
		struct hl_text_opts opts = {.shorten = true, .width = width, .unicode = true};
		char *texts[HL_ARRAY_LEN(frames)];

		for (size_t i = 0; i < HL_ARRAY_LEN(frames); i++)
			labels[i] = (struct hl_label){.frame = &frames[i], .full_name = true};
		hl_disambiguate(labels, HL_ARRAY_LEN(labels), &opts);
		for (size_t i = 0; i < HL_ARRAY_LEN(frames); i++) {
			texts[i] = shown(&labels[i], width, true);
			assert_true(hl_display_columns(texts[i], strlen(texts[i])) <= width);
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(texts[i], texts[k]);
		}
		for (size_t i = 0; i < HL_ARRAY_LEN(frames); i++)
			free(texts[i]);
	}
}

/* Names of groups are not code: their middle is cut. */
static void other_texts_lose_their_middle(void **state)
{
	struct hl_label label = {.text = "worker::pool of the main thread (1234)"};
	char *text = shown(&label, 24, true);

	assert_string_equal(text, "worker::pool of … (1234)");
	free(text);
	label = (struct hl_label){.text = READ_TEXTUAL, .function = true};
	text = shown(&label, 30, true);
	assert_string_equal(text, "…::journal_t::read_textual(…)");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_function_outlives_its_module),
		cmocka_unit_test(siblings_look_different),
		cmocka_unit_test(other_texts_lose_their_middle)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
