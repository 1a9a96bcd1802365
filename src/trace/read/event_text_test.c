/* SPDX-License-Identifier: Apache-2.0 */
/* event_text_test.c - lines as in the format document, and texts with control characters. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "trace/read/event_text.h"

static const struct hl_role role_list[] = {
	{0, HL_TAG_NONE}, {1, HL_TAG_NONE}, {2, HL_TAG_NONE}, {3, HL_TAG_NONE}, {1, 7}, {2, 9}};
static const struct hl_roles roles = {role_list, 6};

static void events_are_formatted_as_documented(void **state)
{
	const struct {
		struct hl_event e;
		const char *line;
	} cases[] = {
		{{.time_ns = 128,
			 .thread = 0,
			 .func = HL_FUNC_MALLOC,
			 .addr = 0x5581a0000010,
			 .size = 24,
			 .ordinal = 81,
			 .node = 17},
			"alloc 128 t0 malloc 0x5581a0000010 24 #81 n17 -"},
		{{.time_ns = 192,
			 .op = HL_OP_FREE,
			 .thread = 1,
			 .func = HL_FUNC_REALLOC,
			 .addr = UINT64_MAX,
			 .size = UINT64_MAX,
			 .ordinal = UINT64_MAX,
			 .node = HL_NODE_NONE,
			 .flags = HL_EVENT_MOVED,
			 .lifetime_class = 5,
			 .alloc_role = 2,
			 .free_node = 3},
			"free 192 t1 realloc 0xffffffffffffffff 18446744073709551615 "
			"#18446744073709551615 - moved life=5 by=t2 at=n3"},
		{{.op = HL_OP_FREE, .func = 200, .free_node = HL_NODE_NONE},
			"free 0 t0 func200 0x0 0 #0 n0 - life=0 by=t0 at=-"},
		{{.thread = 4, .node = 1}, "alloc 0 t1 malloc 0x0 0 #0 n1 - in=g7"},
		{{.op = HL_OP_FREE,
			 .func = HL_FUNC_FREE,
			 .thread = 4,
			 .alloc_role = 5,
			 .free_node = HL_NODE_NONE},
			"free 0 t1 free 0x0 0 #0 n0 - life=0 by=t2 at=- of=g9 in=g7"},
	};
	char buf[HL_EVENT_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(hl_event_text_event(buf, sizeof(buf), &cases[i].e, &roles),
			strlen(cases[i].line));
		assert_string_equal(buf, cases[i].line);
	}
}

static void control_characters_in_texts_are_escaped(void **state)
{
	const struct hl_extra x = {.time_ns = 64,
		.kind = HL_EXTRA_MARK,
		.node = HL_NODE_NONE,
		.text = "a\n\x1b[2J\"\\\xc3\xa9"};
	const struct hl_extra y = {.kind = 99, .node = 4, .addr = 255, .value = 7, .thread = 3};
	char buf[HL_EVENT_TEXT_MAX], small[8];

	hl_event_text_extra(buf, sizeof(buf), &x, &roles);
	assert_string_equal(
		buf, "extra 64 t0 mark 0x0 0 0 0 - \"a\\x0a\\x1b[2J\\x22\\x5c\\xc3\\xa9\"");
	hl_event_text_extra(buf, sizeof(buf), &y, &roles);
	assert_string_equal(buf, "extra 0 t3 kind99 0xff 0 7 0 n4 -");
	assert_true(hl_event_text_extra(small, sizeof(small), &x, &roles) > 8);
	assert_string_equal(small, "extra 6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_formatted_as_documented),
		cmocka_unit_test(control_characters_in_texts_are_escaped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
