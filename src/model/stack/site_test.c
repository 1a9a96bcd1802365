/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_test.c - which frames are the program's own code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/stack/flat_table.h"

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

		if (hl_frame_is_own_code(&f) != cases[i].own)
			fail_msg("%s, %s", cases[i].function, cases[i].file ? cases[i].file : "-");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(frames_of_the_program_are_recognized)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
