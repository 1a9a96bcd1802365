/* SPDX-License-Identifier: Apache-2.0 */
/* session_row_test.c - lines of a session are read back unchanged; all other lines are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/attr.h"
#include "trace/format/session_row.h"

static void check_round_trip(const struct hl_session_row *row)
{
	struct hl_strbuf b = {0};
	struct hl_session_row got;
	char line[HL_SESSION_LINE_MAX];

	hl_session_row_put(&b, row);
	assert_true(b.len < sizeof(line));
	memcpy(line, hl_strbuf_str(&b), b.len + 1);
	assert_ptr_equal(strchr(line, '\n'), line + b.len - 1); /* one line */
	line[b.len - 1] = '\0';
	assert_true(hl_session_row_parse(&got, line));
	assert_int_equal(got.pid, row->pid);
	assert_int_equal(got.parent_pid, row->parent_pid);
	assert_int_equal(got.start_unix_ns, row->start_unix_ns);
	assert_string_equal(got.program, row->program);
	if (row->file)
		assert_string_equal(got.file, row->file);
	else
		assert_null(got.file);
	hl_strbuf_fini(&b);
}

static void rows_are_read_back(void **state)
{
	static const struct hl_session_row rows[] = {
		{1, 0, 0, "", "1.x.hlt"},
		{4194304, 17, 1789000000000000000u, "/usr/bin/cc1", "4194304.cc1.hlt"},
		{UINT64_MAX, UINT64_MAX, UINT64_MAX, "/a b\tc\nd\\x41\x7f\x1b[31m\xff\xc3\xa4",
			"../app.2.hlt"},
		{5, 4, 3, "elsewhere", NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
		check_round_trip(&rows[i]);
}

static void other_lines_are_refused(void **state)
{
	static const char *const lines[] = {"", "heaplapse session 1", "\t\t\t\t", "1\t2\t3\tp",
		"1\t2\t3\tp\tf\tmore", "0\t2\t3\tp\tf", "-1\t2\t3\tp\tf", "1\t \t3\tp\tf",
		"1\t2\t99999999999999999999\tp\tf", "1\t2\t3\tp\t", "1\t2\t3\tp\t..",
		"1\t2\t3\tp\t.", "1\t2\t3\tp\t../..", "1\t2\t3\tp\t../", "1\t2\t3\tp\t/etc/passwd",
		"1\t2\t3\tp\ta/b", "1\t2\t3\tp\t../a/b", "1\t2\t3\tp\t../../a",
		"1\t2\t3\tp\t\\x2e\\x2e", "1\t2\t3\tp\t..\\x2fa\\x2fb", "1\t2\t3\tp\\x\tf",
		"1\t2\t3\tp\\x4\tf", "1\t2\t3\tp\\x00\tf", "1\t2\t3\tp\\x4G\tf", "1\t2\t3\tp\\\tf",
		"1x\t2\t3\tp\tf"};

	for (size_t i = 0; i < HL_ARRAY_LEN(lines); i++) {
		struct hl_session_row row;
		char line[128];

		strcpy(line, lines[i]);
		if (hl_session_row_parse(&row, line))
			fail_msg("accepted: %s", lines[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read_back),
		cmocka_unit_test(other_lines_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
