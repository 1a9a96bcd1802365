/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_name_test.c - real names in 24, 40, 60 and 100 columns, and what holds for every name and
 * width.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "util/code_name/code_name.h"
#include "util/safe_text.h"

static const size_t widths[] = {24, 40, 60, 100};

/* clang-format off */
static const struct {
	const char *name, *fitted[HL_ARRAY_LEN(widths)]; /* NULL: the name */
} cases[] = {
	{"ledger::journal_t::read_textual(ledger::parse_context_stack_t&)",
		{"…::read_textual",
			"ledger::journal_t::read_textual(…)",
			"ledger::journal_t::read_textual(…)",
			NULL}},
	{"std::vector<ledger::post_t*, std::allocator<ledger::post_t*> >::push_back(ledger::post_t* const&)",
		{"…::vector::push_back",
			"std::vector<…>::push_back(…)",
			"std::vector<…>::push_back(…)",
			NULL}},
	{"void std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_construct<char*>(char*, char*, std::forward_iterator_tag)",
		{"…::_M_construct",
			"…::basic_string<…>::_M_construct<…>(…)",
			"std::__cxx11::basic_string<…>::_M_construct<…>(…)",
			"std::__cxx11::basic_string<…>::_M_construct<…>(…)"}},
	{"ledger::(anonymous namespace)::instance_t::parse_post(char*, long, ledger::account_t*, ledger::xact_t*, bool)",
		{"…::parse_post",
			"…::instance_t::parse_post(…)",
			"ledger::(anonymous namespace)::instance_t::parse_post(…)",
			"ledger::(anonymous namespace)::instance_t::parse_post(…)"}},
	{"clang::Preprocessor::HandleDirective(clang::Token&)",
		{"…::HandleDirective",
			"clang::Preprocessor::HandleDirective(…)",
			NULL,
			NULL}},
	{"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
		{"std::operator<< <…>(…)",
			"std::operator<< <…>(…)",
			"std::operator<< <std::char_traits<char> >(…)",
			NULL}},
	{"shop::Matrix<double, 3000ul>::operator std::vector<double, std::allocator<double> >() const",
		{"…::operator std::vector",
			"…::Matrix::operator std::vector",
			"shop::Matrix<…>::operator std::vector<…>() const",
			NULL}},
	{"Item::operator<=>(Item const&) const",
		{"Item::operator<=>",
			NULL,
			NULL,
			NULL}},
	{"main::{lambda(std::vector<int, std::allocator<int> > const&)#1}::operator()(std::vector<int, std::allocator<int> > const&) const",
		{"main::{lambda#1}",
			"main::{lambda(…)#1}::operator()(…) const",
			"main::{lambda(…)#1}::operator()(…) const",
			"main::{lambda(…)#1}::operator()(…) const"}},
	{"shop::count(int, std::map<int, int>)::<lambda(int)>::operator()(int) const",
		{"…::count::<lambda(int)>",
			"shop::count::<lambda(int)>",
			"shop::count(…)::<lambda(int)>::operator()(…) const",
			NULL}},
	{"shop::inventory::Warehouse::Warehouse(std::string const&, unsigned long)",
		{"…::Warehouse::Warehouse",
			"shop::inventory::Warehouse::Warehouse(…)",
			"shop::inventory::Warehouse::Warehouse(…)",
			NULL}},
	{"shop::inventory::Warehouse::~Warehouse()",
		{"…::Warehouse::~Warehouse",
			NULL,
			NULL,
			NULL}},
	{"boost::optional<ledger::amount_t>& boost::optional<ledger::amount_t>::operator=<ledger::amount_t>(ledger::amount_t&&)",
		{"…::optional::operator=",
			"boost::optional<…>::operator=<…>(…)",
			"boost::optional<…>::operator=<…>(…)",
			"boost::optional<ledger::amount_t>::operator=<ledger::amount_t>(ledger::amount_t&&)"}},
	{"<alloc::vec::Vec<T, A> as core::ops::drop::Drop>::drop",
		{"<Vec<…> as Drop>::drop",
			"<Vec<…> as Drop>::drop",
			NULL,
			NULL}},
	{"<alloc::collections::btree::map::BTreeMap<alloc::string::String, groupby::Row> as core::iter::traits::collect::FromIterator<(alloc::string::String, groupby::Row)>>::from_iter::<core::iter::adapters::map::Map<std::io::Lines<std::io::BufReader<std::fs::File>>, groupby::main::{closure#0}>>",
		{"…::from_iter",
			"…::from_iter",
			"<BTreeMap<…> as FromIterator<…>>::from_iter::<…>",
			"<BTreeMap<…> as FromIterator<…>>::from_iter::<…>"}},
	{"groupby::cache::Cache<alloc::string::String>::put",
		{"…::cache::Cache<…>::put",
			"groupby::cache::Cache<…>::put",
			NULL,
			NULL}},
	{"core::ptr::drop_in_place<alloc::vec::Vec<u8>>",
		{"…::ptr::drop_in_place<…>",
			"core::ptr::drop_in_place<…>",
			NULL,
			NULL}},
	{"core::fmt::<impl core::fmt::Debug for alloc::vec::Vec<u8>>::fmt",
		{"…::fmt",
			"core::fmt::<impl Debug for Vec<…>>::fmt",
			"core::fmt::<impl Debug for Vec<…>>::fmt",
			NULL}},
	{"app::server::run::{closure#0}::{closure#1}",
		{"run::{closure#0}…sure#1}",
			"…::server::run::{closure#0}::{closure#1}",
			NULL,
			NULL}},
	{"std::sys::backtrace::__rust_begin_short_backtrace::<app::main::{closure#0}, ()>",
		{"__rust_begin_sho…cktrace",
			"…::__rust_begin_short_backtrace",
			"std::sys::backtrace::__rust_begin_short_backtrace::<…>",
			NULL}},
	{"-[NSMutableDictionary initWithObjects:forKeys:count:]",
		{"initWithObjects:…count:]",
			"… initWithObjects:forKeys:count:]",
			NULL,
			NULL}},
	{"std.stdio.File.ByLineImpl!(char, char).popFront()",
		{"….ByLineImpl.popFront",
			"std.stdio.File.ByLineImpl!(…).popFront()",
			NULL,
			NULL}},
	{"core.internal.array.appending._d_arrayappendcTX!(immutable(char)[])._d_arrayappendcTX",
		{"…._d_arrayappendcTX",
			"…._d_arrayappendcTX._d_arrayappendcTX",
			"….array.appending._d_arrayappendcTX!(…)._d_arrayappendcTX",
			NULL}},
	{"main.(*Cache).Put",
		{NULL,
			NULL,
			NULL,
			NULL}},
	{"github.com/user/project/internal/cache.(*Store).Insert",
		{"….(*Store).Insert",
			"….(*Store).Insert",
			NULL,
			NULL}},
	{"sqlite3_str_vappendf_with_a_really_long_function_name_for_this_width_test",
		{"sqlite3_str_vapp…th_test",
			"sqlite3_str_vappendf_with_…is_width_test",
			"sqlite3_str_vappendf_with_a_really_long_…for_this_width_test",
			NULL}},
	{"foo.isra.0",
		{NULL,
			NULL,
			NULL,
			NULL}},
	{"g_object_new_internal.constprop.0",
		{"g_object_new_int…tprop.0",
			NULL,
			NULL,
			NULL}},
	{"non-virtual thunk to shop::Item::print(std::ostream&) const",
		{"…::Item::print(…) const",
			"shop::Item::print(std::ostream&) const",
			NULL,
			NULL}},
	{"std::vector<int>::reserve(unsigned long) [clone .isra.0]",
		{"…::vector<…>::reserve(…)",
			"std::vector<int>::reserve(unsigned long)",
			NULL,
			NULL}},
	{"decltype(auto) fmt::v9::detail::write_padded<fmt::v9::align::right, char>(fmt::v9::appender, int)",
		{"…::detail::write_padded",
			"fmt::v9::detail::write_padded<…>(…)",
			"fmt::v9::detail::write_padded<…>(…)",
			NULL}},
	{"std::function<void (int)>::operator()(int) const",
		{"…::function::operator()",
			"std::function<…>::operator()(…) const",
			NULL,
			NULL}},
	{"main::$_0::operator()(int) const",
		{"main::$_0",
			NULL,
			NULL,
			NULL}},
	{"main::'lambda'(int)::operator()(int) const",
		{"main::'lambda'",
			"main::'lambda'(…)::operator()(…) const",
			NULL,
			NULL}},
	{"[6 frames of std::map]",
		{NULL,
			NULL,
			NULL,
			NULL}},
	{"[jit 0x7f1200ab]",
		{NULL,
			NULL,
			NULL,
			NULL}},
	{"0x7fa0810a57b9",
		{NULL,
			NULL,
			NULL,
			NULL}},
	{"LazyCompile:~parse /home/u/long/path/file.js:12:3",
		{"LazyCompile:~par…js:12:3",
			"LazyCompile:~parse /home/u…/file.js:12:3",
			NULL,
			NULL}},
	{"py::handle_request:/srv/app/handlers/requests.py",
		{"handle_request:/…ests.py",
			"handle_request:/srv/app/ha…s/requests.py",
			NULL,
			NULL}},
	{"operator new(unsigned long)",
		{"operator new(…)",
			NULL,
			NULL,
			NULL}},
	{"operator delete[](void*)",
		{NULL,
			NULL,
			NULL,
			NULL}},
	{"grow_cache(unsigned long)",
		{"grow_cache(…)",
			NULL,
			NULL,
			NULL}},
};
/* clang-format on */

static void names_keep_their_last_component(void **state)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		for (size_t k = 0; k < HL_ARRAY_LEN(widths); k++) {
			const char *wanted = cases[i].fitted[k];
			struct hl_strbuf b = {0};

			hl_code_name_fit(&b, cases[i].name, widths[k], "…");
			assert_string_equal(hl_strbuf_str(&b), wanted ? wanted : cases[i].name);
			hl_strbuf_fini(&b);
		}
	}
}

static void ascii_has_three_dots(void **state)
{
	static const char name[] = "ledger::journal_t::read_textual(ledger::parse_context_t&)";
	struct hl_strbuf b = {0};

	assert_int_equal(hl_code_name_fit(&b, name, 40, "..."), HL_CODE_NAME_CLASS);
	assert_string_equal(hl_strbuf_str(&b), "ledger::journal_t::read_textual(...)");
	hl_strbuf_reset(&b);
	assert_int_equal(hl_code_name_fit(&b, name, 30, "..."), HL_CODE_NAME_CLASS);
	assert_string_equal(hl_strbuf_str(&b), "...::journal_t::read_textual");
	hl_strbuf_reset(&b);
	assert_int_equal(hl_code_name_fit(&b, name, 12, "..."), HL_CODE_NAME_FUNCTION);
	assert_string_equal(hl_strbuf_str(&b), "read_textual");
	hl_strbuf_reset(&b);
	assert_int_equal(hl_code_name_fit(&b, name, 9, "..."), HL_CODE_NAME_CUT);
	assert_string_equal(hl_strbuf_str(&b), "read...al");
	hl_strbuf_fini(&b);
}

/* Two names that fit to the same text, in 40 columns, with their difference. */
static void differences_are_shown(void **state)
{
	static const struct {
		const char *a, *b, *shown_a, *shown_b;
	} pairs[] = {
		{"shop::inventory::Warehouse<double>::restock(std::vector<int> const&, int)",
			"shop::inventory::Warehouse<float>::restock(std::vector<int> const&, int)",
			"Warehouse<double>::restock", "Warehouse<float>::restock"},
		{"shop::inventory::Warehouse::restock(std::vector<int> const&, shop::Item const&)",
			"shop::inventory::Warehouse::restock(std::vector<int> const&, shop::Shelf "
			"const&)",
			"Item const&)", "Shelf const&)"},
		{"north::inventory::Warehouse::restock_everything_at_once(int)",
			"south::inventory::Warehouse::restock_everything_at_once(int)",
			"north::inve…::restock_everything_at_once",
			"south::inve…::restock_everything_at_once"},
		{"a_long_function_name_of_c_without_any_parts_x_but_with_a_tail",
			"a_long_function_name_of_c_without_any_parts_y_but_with_a_tail",
			"parts_x_but_with_a_tail", "parts_y_but_with_a_tail"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(pairs); i++) {
		size_t n = 0;
		struct hl_strbuf a = {0}, b = {0};

		while (pairs[i].a[n] == pairs[i].b[n])
			n++;
		hl_code_name_fit_difference(&a, pairs[i].a, 40, n ? n : 1, "…");
		hl_code_name_fit_difference(&b, pairs[i].b, 40, n ? n : 1, "…");
		assert_non_null(strstr(hl_strbuf_str(&a), pairs[i].shown_a));
		assert_non_null(strstr(hl_strbuf_str(&b), pairs[i].shown_b));
		hl_strbuf_fini(&a);
		hl_strbuf_fini(&b);
	}
}

static bool is_utf8(const char *s)
{
	uint32_t rune;

	for (size_t i = 0, len = strlen(s); i < len;) {
		size_t n = hl_rune_decode(s + i, len - i, &rune);

		if (rune == HL_RUNE_BAD && n == 1)
			return false;
		i += n;
	}
	return true;
}

static void check_invariants(const char *name, size_t width, const char *ellipsis)
{
	struct hl_strbuf a = {0}, again = {0};
	bool fits = hl_code_name_columns(name, strlen(name)) <= width;

	hl_code_name_fit(&a, name, width, ellipsis);
	hl_code_name_fit(&again, name, width, ellipsis);
	assert_string_equal(hl_strbuf_str(&a), hl_strbuf_str(&again));
	assert_true(hl_code_name_columns(hl_strbuf_str(&a), a.len) <= width);
	assert_true(a.len > 0 || !*name);
	assert_true(is_utf8(hl_strbuf_str(&a)));
	assert_true(!fits || strcmp(hl_strbuf_str(&a), name) == 0);
	for (size_t at = 0; at <= strlen(name); at += 1 + at / 3) {
		hl_strbuf_reset(&a);
		hl_code_name_fit_difference(&a, name, width, at, ellipsis);
		assert_true(hl_code_name_columns(hl_strbuf_str(&a), a.len) <= width);
		assert_true(!fits || strcmp(hl_strbuf_str(&a), name) == 0);
	}
	hl_strbuf_fini(&a);
	hl_strbuf_fini(&again);
}

static void no_name_is_wider_than_its_room(void **state)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		for (size_t width = 1; width < 120; width++) {
			check_invariants(cases[i].name, width, "…");
			check_invariants(cases[i].name, width, "...");
		}
	}
	check_invariants("größe::straße::Überlänge<möglich>::prüfe_größe(straße const&)", 24, "…");
	check_invariants("", 24, "…");
}

/* The forms of a name become shorter, and the last one is the function's own name. */
static void forms_leave_out_more_and_more(void **state)
{
	static const char name[] = "void shop::Cache<K>::put<int>(K const&) const [clone .isra.0]";
	static const char *const wanted[] = {name, "shop::Cache<K>::put<int>(K const&) const",
		"shop::Cache<K>::put<int>(…) const", NULL, NULL, "…::Cache<K>::put<…>(…) const",
		"…::Cache::put", "…::put", "put"};

	for (unsigned n = 0; n <= HL_ARRAY_LEN(wanted); n++) {
		struct hl_strbuf b = {0};
		enum hl_code_name_kept kept;

		assert_int_equal(
			hl_code_name_form(&b, name, n, "…", &kept), n < HL_ARRAY_LEN(wanted));
		if (n < HL_ARRAY_LEN(wanted) && wanted[n])
			assert_string_equal(hl_strbuf_str(&b), wanted[n]);
		hl_strbuf_fini(&b);
	}
}

/* Pieces of names in random order: no read out of bounds, it ends, and the invariants hold. */
static void malformed_names_are_survived(void **state)
{
	static const char *const pieces[] = {"<", ">", "(", ")", "[", "]", "{", "}", "::", ".", " ",
		"operator", "operator()", "operator<", "a", "std", "ä", "(anonymous namespace)",
		"<impl ", "<lambda", "{lambda(int)#1}", " [clone ", "decltype", "-[", "!(", "->",
		","};
	static char deep[20000];
	uint32_t x = 1;

	for (int round = 0; round < 4000; round++) {
		struct hl_strbuf name = {0};

		for (int i = 0; i < 12; i++) {
			x = x * 1664525 + 1013904223;
			hl_strbuf_puts(&name, pieces[(x >> 16) % HL_ARRAY_LEN(pieces)]);
		}
		check_invariants(hl_strbuf_str(&name), (x >> 8) % 50 + 1, "…");
		hl_strbuf_fini(&name);
	}
	for (size_t i = 0; i + 3 < sizeof(deep); i += 3)
		memcpy(deep + i, "a::", 3);
	deep[sizeof(deep) - 1] = 0;
	check_invariants(deep, 40, "…");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names_keep_their_last_component),
		cmocka_unit_test(ascii_has_three_dots), cmocka_unit_test(differences_are_shown),
		cmocka_unit_test(no_name_is_wider_than_its_room),
		cmocka_unit_test(forms_leave_out_more_and_more),
		cmocka_unit_test(malformed_names_are_survived)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
