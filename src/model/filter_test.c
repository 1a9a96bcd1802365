/*
 * filter_test.c - the filter language: what is understood, where errors point, what fits.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/filter.h"

static void errors(void **state)
{
	static const struct {
		const char *expr;
		int at; /* -1: right */
	} cases[] = {
		{"", -1},
		{"   ", -1},
		{"op=alloc", -1},
		{"!op=free  thread=3 size>=4K size<1G size=7 size<=7 size>0", -1},
		{"func=malloc func=new[] func=posix_memalign", -1},
		{"time=1s..2s time=..50% time=@peak.. time=..", -1},
		{"function=foo function=\"operator new\" !function=\"a b\"", -1},
		{"x", 0},
		{"op=alloc bogus=1", 9},
		{"op", 2},
		{"op=", 3},
		{"op=allox", 3},
		{"op>=alloc", 2},
		{"size>=", 6},
		{"size>=4X", 7},
		{"size>=4KB", 7},
		{"size=99999999999999999999", 5},
		{"size=99999999999G", 5},
		{"size=-1", 5},
		{"thread=1K", 8},
		{"thread=a", 7},
		{"func=mallok", 5},
		{"time=1s", 5},
		{"time=1s..x", 9},
		{"time=x..1s", 5},
		{"function=", 9},
		{"function=\"abc", 9},
		{"function=\"abc\"d", 14},
		{"! op=alloc", 1},
		{"!!op=alloc", 1},
		{"=", 0},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_filter_error error = {0};
		struct hl_filter *f = NULL;
		int err = hl_filter_parse(&f, cases[i].expr, &error);

		if ((err == 0) != (cases[i].at < 0))
			fail_msg("\"%s\" gave %d", cases[i].expr, err);
		if (err) {
			assert_int_equal(err, -EINVAL);
			if ((int)error.at != cases[i].at)
				fail_msg("\"%s\": points at %zu (%s)", cases[i].expr, error.at,
					error.text);
			assert_true(error.text[0]);
		} else {
			hl_filter_free(f);
		}
	}
}

static void matches(void **state)
{
	static const struct hl_event e = {.time_ns = 6400,
		.size = 4096,
		.thread = 2,
		.op = HL_OP_ALLOC,
		.func = HL_FUNC_CALLOC,
		.node = HL_NODE_NONE};
	static const struct {
		const char *expr;
		bool holds;
	} cases[] = {
		{"", true},
		{"op=alloc", true},
		{"!op=alloc", false},
		{"op=free", false},
		{"size=4K", true},
		{"size>4096", false},
		{"size>=4096 size<=4096", true},
		{"size<4K", false},
		{"!size<4K", true},
		{"thread=2 func=calloc", true},
		{"thread=2 func=malloc", false},
		{"time=6.4us..6.4us", true},
		{"time=0..6399", false},
		{"time=6401..", false},
		{"time=..7us", true},
		{"!time=..7us", false},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_filter_error error;
		struct hl_filter *f;
		bool holds;

		assert_int_equal(hl_filter_parse(&f, cases[i].expr, &error), 0);
		assert_int_equal(hl_filter_event(f, NULL, &e, &holds), 0);
		if (holds != cases[i].holds)
			fail_msg("\"%s\" gave %d", cases[i].expr, holds);
		hl_filter_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(errors), cmocka_unit_test(matches)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
