/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_test.c - the filter language: which expressions are valid, where errors point, what
 * matches.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/query/filter.h"
#include "model/query/filter_names.h"

static void errors_point_at_the_wrong_part(void **state)
{
	static const struct {
		const char *expr;
		int at; /* -1: valid */
	} cases[] = {
		{"", -1},
		{"   ", -1},
		{"op=alloc", -1},
		{"!op=free  thread=3 size>=4K size<1G size=7 size<=7 size>0", -1},
		{"func=malloc func=new[] func=posix_memalign", -1},
		{"time=1s..2s time=..50% time=@peak.. time=..", -1},
		{"function=foo function=\"operator new\" !function=\"a b\"", -1},
		{"x", -1},
		{"fn:/parse_.*/ module:libfoo.so thread:3 size:>4K life:<1ms -file:/usr/include/*",
			-1},
		{"alive:end alive:peak alive:50% alive:@mark:login addr:0x7f12", -1},
		{"fn:a,b -fn:c,d,module:e std::vector \"operator ==\" -word", -1},
		{"fn:/a{1,2}/,b fn:\"/a b/\" size:1K..2M life:1ms.. addr:0x10..0xff time:>=1s", -1},
		{"phase1,-phase1 fn:a,-b,c file:a,-b thread:0,-1,2 size:>4K,-<1K,-7", -1},
		{"fn:a,-\"b c\",-size size:1,-fn:x,!y", -1},
		{"fn:a,-", 6},
		{"fn:a,--b", 6},
		{"fn:/leaf|foo bar/ size:1 -fn:/a, b/,c /x y/", -1},
		{"fn:/leaf|foo bar", 3},
		{"fn:a,/b c", 5},
		{"x /a b", 2},
		{"fn:/a\\/ b/ fn:/a\\\\/ fn:/a/b/", -1},
		{"file:/usr/include/* -file:/opt/lib/ module:/lib/*,/opt/ fn:\"/a\"", -1},
		{"size:2K..1K", 5},
		{"size:1,life:2s..1s", 12},
		{"time:@mark:\"a..b\"..@mark:\"c, d\" alive:@mark:\"a b\"", -1},
		{"time:@mark:\"a..b..2s", 5},
		{"fn:/日.語/ fn:/\xff/", 17},
		{"fn:/a(/", 6},
		{"fn:/a{1,2}(/,b", 11},
		{"fn:", 3},
		{"fn:a,", 5},
		{"fn:a,,b", 5},
		{"bogus:1", 0},
		{"x bogus:1", 2},
		{"tag:render/* x tag:\"a b\",/c, d/ -tag:*", -1},
		{"tag:", 4},
		{"x tag:/(/", 8},
		{"kind:mmap", 0},
		{"thread:worker* thread:\"3 of 4\",/x/,7 thread=a", -1},
		{"thread:", 7},
		{"thread:/(/", 9},
		{"life:5ns life:>0", -1},
		{"life:5", 5},
		{"life:50%", 5},
		{"life:<@peak", 6},
		{"alive:never", 6},
		{"addr:12", 5},
		{"addr:0xg", 7},
		{"time:@mark:..1s", 5},
		{"depth:>=20 depth<3 stack:12 -stack:1,2 freed-stack:7", -1},
		{"freed-fn:/a b/,free -freed-file:x.c freed-module:libc freed-thread:0,main", -1},
		{"group-allocated:>=4 group-allocated:1..9 group-leaked:3 group-leaked:>=12.5%",
			-1},
		{"group-leaked:0%..50% group-interval:>1s group-interval:<50% group-peak:1s..", -1},
		{"group-peak:>@peak group-peak:..@mark:\"a b\"", -1},
		{"depth:x", 6},
		{"stack:main", 6},
		{"stack:>4", 5},
		{"freed-fn:", 9},
		{"freed-fn:/a b", 9},
		{"freed-thread:/(/", 15},
		{"group-leaked:101%", 13},
		{"group-leaked:1.2345%", 18},
		{"group-leaked:4..5%", 13},
		{"group-leaked:50%..10%", 13},
		{"group-leaked:.%", 13},
		{"group-allocated:5%", 17},
		{"group-interval:5", 15},
		{"group-peak:1s", 11},
		{"group:4", 0},
		{"-", 1},
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
		{"func=mallok", 5},
		{"call:\"operator new\" func=\"operator delete[]\" call:new,delete[] call:*", -1},
		{"call:operator call:/new|m, n/,malloc call:m*", -1},
		{"call:/new", 5},
		{"call:/(/", 7},
		{"call:", 5},
		{"time=1s", 5},
		{"time=1s..x", 9},
		{"fn>a", 2},
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

/* Also of a name that begins like a comparison. */
static void the_text_of_a_filter_is_a_filter(void **state)
{
	static const struct {
		const char *expr, *text;
	} cases[] = {
		{"fn:a,->5", "fn:a,-fn:\">5\""},
		{"fn:a,-<5 size:<5", "fn:a,-fn:\"<5\" size:<5"},
		{"group-leaked:>50% -freed-fn:/a b/", "group-leaked:>50% -freed-fn:/a b/"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_filter_error error = {0};
		struct hl_strbuf text = {0};
		struct hl_filter *f, *again;

		assert_int_equal(hl_filter_parse(&f, cases[i].expr, &error), 0);
		hl_filter_describe(f, &text);
		assert_string_equal(hl_strbuf_str(&text), cases[i].text);
		assert_int_equal(hl_filter_parse(&again, hl_strbuf_str(&text), &error), 0);
		hl_filter_free(again);
		hl_filter_free(f);
		hl_strbuf_fini(&text);
	}
}

static void filters_match_an_event(void **state)
{
	static const struct hl_event e = {.time_ns = 6400,
		.size = 4096,
		.addr = 0x1000,
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
		{"call:c*", true},
		{"call:/^call/", true},
		{"call:callo", true},
		{"call:alloc", true},
		{"call:m*,new", false},
		{"-call:calloc", false},
		{"time=6.4us..6.4us", true},
		{"time=0..6399ns", false},
		{"time=6401ns..", false},
		{"time=..7us", true},
		{"!time=..7us", false},
		{"size:4K..8K", true},
		{"size:<4K,4096", true},
		{"size:>4K,1,2", false},
		{"-size:>4K,1,2", true},
		{"-size:4K,1", false},
		{"size:1,thread:2", true},
		{"size:1,-thread:2", false},
		{"size:1,thread:3 call:calloc", false},
		{"size:<0", false},
		{"size:>18446744073709551615", false},
		{"addr:0x1000", true},
		{"addr:0x1fff", true},
		{"addr:0x2000", false},
		{"addr:0x0..0xfff", false},
		{"addr:0x1000..0x1000 ", true},
		{"life:<1s", false},
		{"time:>=6400ns time:<6401ns", true},
		{"time:<6400ns", false},
		{"time:>6400ns", false},
		{"time:>6399ns", true},
		{"calloc", true},
		{"fn:/^c.l/", true},
		{"fn:malloc", false},
		{"-fn:malloc", true},
		{"calloc,-calloc", true},
		{"calloc -calloc", false},
		{"malloc,-calloc", false},
		{"malloc,-malloc", true},
		{"malloc,-malloc,calloc", false},
		{"thread:0,-1", true},
		{"thread:0,-2", false},
		{"anything", false},
		{"-anything", true},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_filter_error error;
		struct hl_filter *f;
		bool holds;

		assert_int_equal(hl_filter_parse(&f, cases[i].expr, &error), 0);
		assert_int_equal(hl_filter_event(f, NULL, &e, 0, &holds), 0);
		if (holds != cases[i].holds)
			fail_msg("\"%s\" gave %d", cases[i].expr, holds);
		hl_filter_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(errors_point_at_the_wrong_part),
		cmocka_unit_test(the_text_of_a_filter_is_a_filter),
		cmocka_unit_test(filters_match_an_event)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
