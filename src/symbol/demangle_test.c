/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle_test.c - demangling of all supported languages, and of names that are not mangled.
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

static void names_are_demangled(void **state)
{
	static const struct {
		const char *in, *out; /* NULL: unchanged */
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

/* Short names that expand to huge ones, and deeply nested ones. */
static void malicious_names_are_survived(void **state)
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_demangled),
		cmocka_unit_test(malicious_names_are_survived)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
