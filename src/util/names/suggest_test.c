/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest_test.c - similar names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "util/names/suggest.h"

static const char *const names[] = {
	"zfree", "zmalloc", "zcalloc", "createObject", "zmalloc_usable", "xmalloc", "main"};

static const char *name_at(const void *from, size_t i)
{
	return i < HL_ARRAY_LEN(names) ? names[i] : NULL;
}

static void the_most_similar_name_is_found(void **state)
{
	assert_string_equal(hl_suggest("zmaloc", name_at, NULL), "zmalloc");
	assert_string_equal(hl_suggest("create", name_at, NULL), "createObject");
	assert_null(hl_suggest("socket", name_at, NULL));
}

/* The suggestions for a word, joined by spaces. */
static const char *suggest_all(const char *word)
{
	static char text[128];
	struct hl_suggestions s = {0};

	for (size_t i = 0; i < 2 * HL_ARRAY_LEN(names); i++) {
		const char *name = names[i % HL_ARRAY_LEN(names)];

		hl_suggestions_add(&s, word, name, name);
	}
	text[0] = 0;
	for (size_t i = 0; i < s.n; i++) {
		strcat(text, i ? " " : "");
		strcat(text, s.names[i]);
	}
	return text;
}

static void several_names_are_ranked(void **state)
{
	assert_string_equal(suggest_all("zmaloc"), "zmalloc xmalloc zcalloc");
	assert_string_equal(suggest_all("CREATEOBJECT"), "createObject");
	assert_string_equal(suggest_all("zmalloc_usable_size"), "zmalloc_usable zmalloc");
	assert_string_equal(suggest_all("nothing_like_it"), "");
	assert_string_equal(suggest_all(""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_most_similar_name_is_found),
		cmocka_unit_test(several_names_are_ranked)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
