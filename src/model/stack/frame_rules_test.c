/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_rules_test.c - which frames are code of the program, and what others are called.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/stack/frame_rules.h"

#define RUST "/rustc/59807616e1fa/library/"

static void frames_of_the_program_are_recognized(void **state)
{
	static const struct {
		const char *function, *file, *module;
		bool own;
	} cases[] = {
		{"main", "/home/me/a.c", "/home/me/a", true},
		{"main", NULL, "/home/me/a", true},
		{"strdup", NULL, "/lib/cpu-linux-gnu/libc.so.6", false},
		{"[...]", NULL, NULL, false},
		{"void std::sort<int*>(int*, int*)", NULL, "/a", false},
		{"std::vector<int, std::allocator<int> > make<int>(int)", "/a.cc", "/a", true},
		{"std::string const& (anonymous namespace)::f<int>()", "/a.cc", "/a", true},
		{"operator new(unsigned long)", NULL, "/a", false},
		{"std::any::operator std::string() const", NULL, "/a", false},
		{"_M_create<main()::<lambda()> >", "/usr/include/c++/12/bits/std_function.h", "/a",
			false},
		{"__swap<int>", "/opt/llvm/include/c++/v1/__utility/swap.h", "/a", false},
		{"f", "/usr/include/cpu-linux-gnu/c++/12/bits/gthr.h", "/a", false},
		{"f", "/usr/include/glib-2.0/glib/gmain.h", "/a", true},
		{"core::Engine::load()", "/src/core/engine.cpp", "/a", true},
		{"core::fmt::write", NULL, "/a", false},
		{"alloc::vec::from_elem", "/build/library/alloc/src/vec/mod.rs", "/a", false},
		{"<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
			RUST "alloc/src/vec/spec_from_elem.rs", "/a", false},
		{"<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", NULL, "/a", false},
		{"<<a::B as c::D>::E as core::clone::Clone>::clone", NULL, "/a", false},
		{"<alloc::string::String>::push_str", NULL, "/a", false},
		{"<p::Parser as core::iter::traits::iterator::Iterator>::next", NULL, "/a", true},
		{"<std::io::Stdout as core::fmt::Write>::write_str", NULL, "/a", false},
		{"<&T as core::fmt::Debug>::fmt", NULL, "/a", false},
		{"std::hash<Key>::operator()(Key const&) const", "/home/me/key.cpp", "/a", true},
		{"std::hash<int>::operator()(int) const", NULL, "/a", false},
		{"std::_Rb_tree<int>::_M_insert(int)", "stl_tree.h", "/a", false},
		{"std::string::_M_create(unsigned long&, unsigned long)",
			"/src/libstdc++-v3/src/c++11/string.cc", "/a", false},
		{"load", "/home/me/engine/include/c++/load.hpp", "/a", true},
		{"f", NULL, "/home/me/libtcmalloc_tools.so", true},
		{"f", NULL, "/usr/lib/libtcmalloc_minimal.so.4", false},
		{"<alloc::vec::Vec<u8> as shop::Stock>::fill", NULL, "/a", true},
		{"<shop::Cart as core::iter::Iterator>::next", "/home/me/src/main.rs", "/a", true},
		{"<shop::Cart as shop::Total>::total", NULL, "/a", true},
		{"<shop::Cart>::grow", NULL, "/a", true},
		{"hashbrown::raw::alloc::inner::do_alloc", NULL, "/a", false},
		{"do_alloc", "/root/.cargo/registry/src/x/hashbrown-0.14.5/src/raw/mod.rs", "/a",
			false},
		{"parse", "/root/.cargo/registry/src/x/serde-1.0/src/lib.rs", "/a", true},
		{"map<u8>",
			"/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/"
			"option.rs",
			"/a", false},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_frame f = {.function = cases[i].function,
			.file = cases[i].file,
			.module = cases[i].module};

		if ((hl_frame_kind_by_name(&f, NULL) == HL_FRAME_OWN) != cases[i].own)
			fail_msg("%s, %s", cases[i].function, cases[i].file ? cases[i].file : "-");
	}
}

static void plumbing_that_allocates_is_known(void **state)
{
	static const struct {
		const char *function, *module;
		bool allocates;
	} cases[] = {
		{"operator new(unsigned long)", "/a", true},
		{"operator new[](unsigned long)", "/lib/libstdc++.so.6", true},
		{"std::allocator<int>::allocate(unsigned long)", "/a", true},
		{"__gnu_cxx::new_allocator<int>::allocate(unsigned long)", "/a", true},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)", "/a", false},
		{"alloc::alloc::alloc", "/a", true},
		{"alloc::alloc::Global::alloc_impl", "/a", true},
		{"alloc::raw_vec::RawVec<T,A>::grow_one", "/a", false},
		{"__rust_alloc", "/a", true},
		{"__rustc::__rdl_alloc", "/a", true},
		{"__strdup", "/lib/libc.so.6", true},
		{"__GI___strdup", "/lib/libc.so.6", true},
		{"asprintf", "/lib/libc.so.6", true},
		{"fopen", "/lib/libc.so.6", false},
		{"strdup", "/a", false},
		{"0x1234", "/lib/libc.so.6", false},
		{"je_malloc", "/usr/lib/libjemalloc.so.2", true},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_frame f = {.function = cases[i].function, .module = cases[i].module};
		bool allocates;

		hl_frame_kind_by_name(&f, &allocates);
		if (allocates != cases[i].allocates)
			fail_msg("%s", cases[i].function);
	}
}

static void families_are_what_the_program_called(void **state)
{
	static const struct {
		const char *function, *file, *module, *family;
	} cases[] = {
		{"std::map<int, int>::operator[](int&&)", NULL, "/a", "std::map"},
		{"void std::sort<int*>(int*, int*)", NULL, "/a", "std::sort"},
		{"std::_Rb_tree<int, std::pair<int, int> >::_M_insert()", NULL, "/a", "std::map"},
		{"std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)", NULL,
			"/lib/libstdc++.so.6", "std::string"},
		{"std::__1::vector<int>::push_back(int&&)", NULL, "/a", "std::vector"},
		{"std::string::append(char const*)", NULL, "/a", "std::string"},
		{"std::basic_ostream<char>& std::operator<< <std::char_traits<char> >(int)", NULL,
			"/a", "std::operator<<"},
		{"bool std::operator==<char>(char const*)", NULL, "/a", "std::operator=="},
		{"bool std::operator< <char>(char const*)", NULL, "/a", "std::operator<"},
		{"_IO_puts", NULL, "/lib/libc.so.6", "puts"},
		{"[...]", NULL, NULL, "an unknown caller"},
		{"push_back", "/usr/include/c++/12/bits/stl_vector.h", "/a", "std::vector"},
		{"f", "/usr/include/c++/12/bits/other.h", "/a", "the C++ library"},
		{"operator new(unsigned long)", NULL, "/a", "operator new"},
		{"__gnu_cxx::__alloc_traits<int>::allocate()", NULL, "/a", "std::allocator"},
		{"alloc::vec::Vec<T,A>::push", RUST "alloc/src/vec/mod.rs", "/a", "alloc::vec"},
		{"map<u8>", RUST "core/src/option.rs", "/a", "core::option"},
		{"<T as alloc::string::ToString>::to_string", NULL, "/a", "alloc::string"},
		{"<alloc::string::String>::push_str", NULL, "/a", "alloc::string"},
		{"std::rt::lang_start", NULL, "/a", "std::rt"},
		{"hashbrown::raw::RawTable<T,A>::reserve", NULL, "/a", "hashbrown"},
		{"do_alloc", "/root/.cargo/registry/src/x/hashbrown-0.14.5/src/raw/mod.rs", "/a",
			"hashbrown"},
		{"__strdup", NULL, "/lib/cpu-linux-gnu/libc.so.6", "strdup"},
		{"__GI__IO_fopen", NULL, "/lib/libc.so.6", "fopen"},
		{"__libc_start_main_impl", NULL, "/lib/libc.so.6", "libc"},
		{"0x7f1200", NULL, "/lib/cpu-linux-gnu/libc.so.6", "libc"},
		{"_dl_open", NULL, "/lib64/ld-linux-cpu.so.2", "the loader"},
		{"boost::asio::io_context::run()", NULL, "/a", "boost::asio"},
		{"png_malloc", NULL, "/lib/libpng16.so.16", "png_malloc"},
		{"0x12", NULL, NULL, "0x12"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_frame f = {.function = cases[i].function,
			.file = cases[i].file,
			.module = cases[i].module};
		struct hl_strbuf b = {0};

		hl_frame_put_family(&b, &f);
		assert_string_equal(hl_strbuf_str(&b), cases[i].family);
		hl_strbuf_fini(&b);
	}
}

static void names_of_allocators_are_recognized(void **state)
{
	static const struct {
		const char *function;
		enum hl_allocator_name name;
	} cases[] = {
		{"xmalloc", HL_NAME_ALLOCATOR},
		{"sqlite3DbMallocRaw", HL_NAME_ALLOCATOR},
		{"ztrymalloc_usable", HL_NAME_ALLOCATOR},
		{"xmallocz", HL_NAME_ALLOCATOR},
		{"enterCriticalLock", HL_NAME_OTHER},
		{"normalLocation", HL_NAME_OTHER},
		{"preallocate_buffers", HL_NAME_OTHER},
		{"g_strdup", HL_NAME_ALLOCATOR},
		{"ngx_palloc", HL_NAME_ALLOCATOR},
		{"jv_mem_realloc", HL_NAME_ALLOCATOR},
		{"my::Malloc(unsigned long)", HL_NAME_ALLOCATOR},
		{"__gmp_default_allocate", HL_NAME_ALLOCATOR},
		{"pcache1Alloc", HL_NAME_ALLOC},
		{"yyalloc", HL_NAME_ALLOC},
		{"alloc_node", HL_NAME_NEW},
		{"_PyObject_GC_NewVar", HL_NAME_NEW},
		{"icu::Memory::operator new(unsigned long)", HL_NAME_NEW},
		{"newlstr", HL_NAME_OTHER},
		{"Renew", HL_NAME_OTHER},
		{"tuple_dealloc", HL_NAME_OTHER},
		{"deallocate", HL_NAME_OTHER},
		{"main", HL_NAME_OTHER},
		{"free_all", HL_NAME_OTHER},
		{"keep(malloc_stats*)", HL_NAME_OTHER},
		{"map<mallocator>::put", HL_NAME_OTHER},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_frame f = {.function = cases[i].function};

		if (hl_frame_allocator_name(&f) != cases[i].name)
			fail_msg("%s", cases[i].function);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(frames_of_the_program_are_recognized),
		cmocka_unit_test(plumbing_that_allocates_is_known),
		cmocka_unit_test(families_are_what_the_program_called),
		cmocka_unit_test(names_of_allocators_are_recognized)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
