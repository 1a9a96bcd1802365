/*
 * demangle_test.c - names of the languages we know, and names that are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "symbol/symbol_internal.h"

static void names(void **state)
{
	static const struct {
		const char *in, *out; /* NULL: stays as it is */
	} cases[] = {
		{"main", NULL},
		{"", NULL},
		{"_", NULL},
		{"_Z", NULL},
		{"_init", NULL},
		{"_Dmain", "D main"},
		{"_ZN4shop4ItemD1Ev", "shop::Item::~Item()"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
			"std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_D3std5stdio4File5closeMFNeZv", "std.stdio.File.close()"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		char *out = hl_demangle(cases[i].in);

		if ((out == NULL) != (cases[i].out == NULL))
			fail_msg("%s became %s", cases[i].in, out ? out : "nothing");
		if (out)
			assert_string_equal(out, cases[i].out);
		free(out);
	}
}

/* Small names that stand for huge ones, and deep ones. */
static void bombs(void **state)
{
	static char deep[60000];
	char *out;

	memset(deep, 'P', sizeof(deep) - 2);
	memcpy(deep, "_Z1f", 4);
	deep[sizeof(deep) - 2] = 'i';
	free(hl_demangle(deep));
	out = hl_demangle(
		"_Z1fSt4pairIS_IS_IS_IS_IS_IS_IS_IS_IS_IiiES0_ES1_ES2_ES3_ES4_ES5_ES6_ES7_ES8_");
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(bombs)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
