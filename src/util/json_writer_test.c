/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer_test.c - JSON text is valid and has no active control characters, for all strings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/attr.h"
#include "util/json_writer.h"
#include "util/safe_text.h"

static void strings_are_escaped(void **state)
{
	static const struct {
		const char *in, *json, *text;
	} cases[] = {
		{"plain", "\"plain\"", "plain"},
		{"", "\"\"", ""},
		{"a\"b\\c", "\"a\\\"b\\\\c\"", "a\"b\\c"},
		{"\x1b[2Jx", "\"\\u001b[2Jx\"", "\\x1b[2Jx"},
		{"a\nb\tc\r", "\"a\\nb\\tc\\u000d\"", "a\\nb\\tc\\r"},
		{"\x7f", "\"\\u007f\"", "\\x7f"},
		{"\xc2\x9b"
		 "31m",
			"\"\\u009b31m\"", "\\x9b31m"},        /* C1 control: CSI as one character */
		{"\x9b", "\"\xef\xbf\xbd\"", "\xef\xbf\xbd"}, /* CSI as a raw byte */
		{"\xe2\x80\xae", "\"\\u202e\"", "\\u{202e}"}, /* right-to-left override */
		{"\xe2\x80\xa8", "\"\\u2028\"", "\\u{2028}"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
			"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"",
			"\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
			"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
		{"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
			"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* beyond U+10FFFF */
		{"ab\xe2\x82", "\"ab\xef\xbf\xbd\xef\xbf\xbd\"", "ab\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x82\x1b", "\"\xef\xbf\xbd\xef\xbf\xbd\\u001b\"",
			"\xef\xbf\xbd\xef\xbf\xbd\\x1b"},
		{"<script>", "\"<script>\"", "<script>"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_strbuf text = {0};
		struct hl_json j;
		char *out;
		size_t len;
		FILE *f = open_memstream(&out, &len);

		hl_json_init(&j, f);
		hl_json_string(&j, cases[i].in);
		fclose(f);
		assert_string_equal(out, cases[i].json);
		free(out);
		hl_text_escape(&text, cases[i].in);
		assert_string_equal(hl_strbuf_str(&text), cases[i].text);
		hl_strbuf_fini(&text);
	}
}

static void commas_and_nesting_are_correct(void **state)
{
	struct hl_json j;
	char *out;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	hl_json_init(&j, f);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "a", UINT64_MAX);
	hl_json_key(&j, "b");
	hl_json_begin_array(&j);
	hl_json_begin_object(&j);
	hl_json_end_object(&j);
	hl_json_begin_array(&j);
	hl_json_end_array(&j);
	hl_json_i64(&j, INT64_MIN);
	hl_json_string(&j, NULL);
	hl_json_end_array(&j);
	hl_json_key_bool(&j, "c\"", false);
	hl_json_key_string(&j, "d", "e");
	hl_json_key_u64_or_null(&j, "f", UINT64_MAX);
	hl_json_key_u64_or_null(&j, "g", UINT64_MAX - 1);
	hl_json_end_object(&j);
	fclose(f);
	assert_string_equal(out,
		"{\"a\":18446744073709551615,\"b\":[{},[],-9223372036854775808,null],"
		"\"c\\\"\":false,\"d\":\"e\",\"f\":null,\"g\":18446744073709551614}");
	free(out);
}

static void a_byte_that_begins_no_rune_is_bad(void **state)
{
	static const char continuations[] = "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80";
	uint32_t rune;

	assert_int_equal(hl_rune_decode(continuations, sizeof(continuations) - 1, &rune), 1);
	assert_int_equal(rune, HL_RUNE_BAD);
	assert_int_equal(
		hl_rune_decode("\xff\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 11, &rune), 1);
	assert_int_equal(rune, HL_RUNE_BAD);
}

static void amounts_are_formatted(void **state)
{
	char buf[HL_TEXT_SIZE_MAX];

	assert_string_equal(hl_text_bytes(buf, 0), "0 B");
	assert_string_equal(hl_text_bytes(buf, 1023), "1023 B");
	assert_string_equal(hl_text_bytes(buf, 1024), "1.0 KiB");
	assert_string_equal(hl_text_bytes(buf, 1024 * 1024 - 1), "1.0 MiB");
	assert_string_equal(hl_text_bytes(buf, UINT64_MAX), "16.0 EiB");
	assert_string_equal(hl_text_count(buf, 0), "0");
	assert_string_equal(hl_text_count(buf, 999), "999");
	assert_string_equal(hl_text_count(buf, 1000), "1,000");
	assert_string_equal(hl_text_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(hl_text_duration(buf, 64), "64 ns");
	assert_string_equal(hl_text_duration(buf, 1500000000), "1.500 s");
	assert_string_equal(hl_text_duration_up(buf, 658380001), "658.4 ms");
	assert_string_equal(hl_text_duration_up(buf, 658400001), "658.5 ms");
	assert_string_equal(hl_text_duration_up(buf, 658400000), "658.4 ms");
	assert_string_equal(hl_text_duration_up(buf, 1500000001), "1.501 s");
	assert_string_equal(hl_text_duration_up(buf, 64), "64 ns");
	assert_string_equal(hl_text_duration_up(buf, 0), "0 ns");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(commas_and_nesting_are_correct),
		cmocka_unit_test(a_byte_that_begins_no_rune_is_bad),
		cmocka_unit_test(amounts_are_formatted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
