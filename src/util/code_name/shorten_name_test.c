/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shorten_name_test.c - names before and after their template arguments are removed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "util/code_name/code_name.h"

static void template_arguments_are_removed(void **state)
{
	static const struct {
		const char *in, *out; /* NULL: unchanged */
	} cases[] = {
		{"", NULL},
		{"main", NULL},
		{"<", NULL},
		{">", NULL},
		{"a<", NULL},
		{"a<b", NULL},
		{"a>b", NULL},
		{"a<b)", NULL},
		{"a<b)>", NULL},
		{"std::vector<int, std::allocator<int> >::push_back(int&&)",
			"std::vector<…>::push_back(int&&)"},
		{"std::map<int, std::vector<std::pair<int, int>>>::find(int const&)",
			"std::map<…>::find(int const&)"},
		{"void f<int>(std::vector<int>, std::set<long>)",
			"void f<…>(std::vector<…>, std::set<…>)"},
		{"a<b>::c<d>::e<f>()", "a<…>::c<…>::e<…>()"},
		/* operators */
		{"operator<(Item const&, Item const&)", NULL},
		{"shop::operator<<(std::ostream&, Item const&)", NULL},
		{"Item::operator->() const", NULL},
		{"Item::operator->*(int)", NULL},
		{"Item::operator>>=(int)", NULL},
		{"Item::operator<=>(Item const&) const", NULL},
		{"Item::operator()(int)", NULL},
		{"Item::operator new[](unsigned long)", NULL},
		{"bool operator< <int>(List<int> const&)", "bool operator< <…>(List<…> const&)"},
		{"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char "
		 "const*)",
			"std::ostream& std::operator<< <…>(std::ostream&, char const*)"},
		{"A<int>::operator-><long>()", "A<…>::operator-><…>()"},
		{"A<int>::operator()<long>(long) const", "A<…>::operator()<…>(long) const"},
		{"A::operator std::vector<int>() const", "A::operator std::vector<…>() const"},
		{"A<int>::operator=<long>(long&&)", "A<…>::operator=<…>(long&&)"},
		{"operator==<int>(int)", "operator==<…>(int)"},
		{"operator+ <int>(int)", "operator+ <…>(int)"},
		{"f<&(A::operator<(int))>()", "f<…>()"},
		{"f<&A::operator->>()", "f<…>()"},
		{"my_operator<int>()", "my_operator<…>()"},
		/* expressions as arguments */
		{"f<((1)>(2))>()", "f<…>()"},
		{"f<((1)<(2))>(int)", "f<…>(int)"},
		{"f<(char)60>::g()", "f<…>::g()"},
		{"decltype (x->y) f<T>(T)", "decltype (x->y) f<…>(T)"},
		/* lambdas, unnamed scopes, function pointers */
		{"main::{lambda(int)#1}::operator()(int) const", NULL},
		{"main::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
			"main::{lambda(std::vector<…>)#1}::operator()(std::vector<…>) const"},
		{"<lambda(int)>::operator()", NULL},
		{"shop::count(int)::<lambda(int)>::operator()(int) const", NULL},
		{"(anonymous namespace)::count(char const*)", NULL},
		{"(anonymous namespace)::Pool<int>::get()",
			"(anonymous namespace)::Pool<…>::get()"},
		{"std::function<void (int)>::operator()(int) const",
			"std::function<…>::operator()(int) const"},
		{"on(void (*)(int), int (Item::*)(char) const)", NULL},
		{"on<void (*)(int)>(void (*)(std::list<int>&))", "on<…>(void (*)(std::list<…>&))"},
		{"f[abi:cxx11]<int>()", "f[abi:cxx11]<…>()"},
		{"f<int>(int) [clone .isra.0]", "f<…>(int) [clone .isra.0]"},
		/* Rust and D */
		{"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
			"<alloc::vec::Vec<…> as core::ops::Drop>::drop"},
		{"core::fmt::<impl core::fmt::Debug for Vec<u8>>::fmt",
			"core::fmt::<impl core::fmt::Debug for Vec<…>>::fmt"},
		{"alloc::vec::Vec<u8>::with_capacity", "alloc::vec::Vec<…>::with_capacity"},
		{"app::run::<u8, &str>::{closure#0}", "app::run::<…>::{closure#0}"},
		{"<&str as core::convert::Into<alloc::string::String>>::into",
			"<&str as core::convert::Into<…>>::into"},
		{"std.stdio.File.close()", NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_strbuf b = {0};

		hl_code_name_drop_lists(&b, cases[i].in, "…");
		assert_string_equal(hl_strbuf_str(&b), cases[i].out ? cases[i].out : cases[i].in);
		hl_strbuf_fini(&b);
	}
}

/* Brackets in random order: no read out of bounds, and it terminates. */
static void malformed_names_are_survived(void **state)
{
	static const char letters[] = "<>()[]{}-:a operator";
	static char deep[100000];
	struct hl_strbuf b = {0};
	uint32_t x = 1;

	for (int round = 0; round < 20000; round++) {
		char name[40];

		for (size_t i = 0; i + 1 < sizeof(name); i++) {
			x = x * 1664525 + 1013904223;
			name[i] = letters[(x >> 16) % (sizeof(letters) - 1)];
		}
		name[sizeof(name) - 1] = 0;
		hl_strbuf_reset(&b);
		hl_code_name_drop_lists(&b, name, "");
		assert_true(b.len <= strlen(name));
	}
	for (size_t i = 0; i + 1 < sizeof(deep); i += 2)
		memcpy(deep + i, "a<", 2);
	deep[sizeof(deep) - 1] = 0;
	hl_strbuf_reset(&b);
	hl_code_name_drop_lists(&b, deep, "…");
	assert_string_equal(hl_strbuf_str(&b), deep);
	hl_strbuf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(template_arguments_are_removed),
		cmocka_unit_test(malformed_names_are_survived)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
