/* SPDX-License-Identifier: Apache-2.0 */
/* tag_report_test.c - totals, order and paths of a report, and the text made from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tags/tag_report.h"
#include "tags/text_sink.h"

/* Bytes of each scope. main: 100 outside; a: 10, a/b: 1, a/a: 5; c: 50, c/b/x: 7 */
static struct hl_tag_thread threads[] = {{.name = "main", .name_len = 4, .owners = 1, .n = 6}};
static const struct {
	const char *name;
	uint32_t parent, bytes;
} tree[] = {{"main", HL_TAG_NO_ROW, 100}, {"a", 0, 10}, {"b", 1, 1}, {"c", 0, 50}, {"b/x", 3, 7},
	{"a", 1, 5}};

static void make_report(struct hl_tag_report *r, struct hl_tag_row *rows)
{
	*r = (struct hl_tag_report){.threads = threads, .n_threads = 1, .rows = rows, .n_rows = 6};
	memset(rows, 0, 6 * sizeof(*rows));
	for (uint32_t i = 0; i < 6; i++) {
		rows[i].name = tree[i].name;
		rows[i].name_len = (uint32_t)strlen(tree[i].name);
		rows[i].parent = tree[i].parent;
		rows[i].self.alloc_bytes = tree[i].bytes;
	}
	hl_tag_report_finish(r);
}

static void test_totals_include_descendants(void **state)
{
	static const uint64_t totals[] = {173, 16, 1, 57, 7, 5};
	struct hl_tag_row rows[6];
	struct hl_tag_report r;

	make_report(&r, rows);
	for (int i = 0; i < 6; i++)
		assert_int_equal(rows[i].total.alloc_bytes, totals[i]);
	assert_int_equal(r.all.alloc_bytes, 173);
	assert_int_equal(hl_tag_share(&r, 173), 10000);
	assert_int_equal(hl_tag_share(&r, (uint64_t)-5), 0);
	r.all.alloc_bytes = UINT64_C(1) << 62;
	assert_int_equal(hl_tag_share(&r, UINT64_C(1) << 61), 5000);
}

/* The largest first, and depth as in the tree. */
static void test_walk_visits_largest_first(void **state)
{
	static const uint32_t order[] = {0, 3, 4, 1, 5, 2}, depths[] = {0, 1, 2, 1, 2, 2};
	struct hl_tag_row rows[6];
	struct hl_tag_report r;
	uint32_t i = 0, depth = 0;

	make_report(&r, rows);
	for (int k = 0; k < 6; k++) {
		assert_int_equal(i, order[k]);
		assert_int_equal(depth, depths[k]);
		i = hl_tag_report_next(&r, i, &depth);
	}
	assert_int_equal(i, HL_TAG_NO_ROW);
}

static void test_find_sums_rows_by_path(void **state)
{
	static const struct {
		const char *path;
		int64_t bytes; /* -1: not found */
	} cases[] = {{"main", 173}, {"*", 173}, {"main/a", 16}, {"*/a/a", 5}, {"main/c/b/x", 7},
		{"main/x", -1}, {"a", -1}, {"other/a", -1}, {"", -1}, {"main/", -1}, {"/a", -1}};
	struct hl_tag_row rows[6], sum;
	struct hl_tag_report r;

	make_report(&r, rows);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = hl_tag_report_find(&r, cases[i].path, &sum);

		assert_int_equal(found, cases[i].bytes >= 0);
		if (found)
			assert_int_equal(sum.total.alloc_bytes, cases[i].bytes);
	}
}

static void expect_text(const char *wanted, const struct hl_text_sink *s)
{
	assert_int_equal(s->len, strlen(wanted));
	assert_memory_equal(s->buf, wanted, s->len);
}

static void test_quoted_text_is_escaped(void **state)
{
	static const char name[] = "a\"\\\n\xc3\xa4\xff\xe2\x80\xae\x1b[";
	char room[200];
	struct hl_text_sink s = {.buf = room, .cap = sizeof(room)};

	hl_text_sink_quoted(&s, HL_QUOTE_JSON, name, sizeof(name) - 1);
	expect_text("a\\\"\\\\\\u000a\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\\u001b[", &s);
	s.len = 0;
	hl_text_sink_quoted(&s, HL_QUOTE_DOT, name, sizeof(name) - 1);
	expect_text("a\\\"\\\\\\\\x0a\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\\\\x1b[", &s);
	s.len = 0;
	hl_text_sink_quoted(&s, HL_QUOTE_TEXT, name, sizeof(name) - 1);
	expect_text("a\"\\\\x0a\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd\\x1b[", &s);
}

static void test_bytes_have_units(void **state)
{
	static const struct {
		int64_t n;
		const char *text;
	} cases[] = {{0, "0 B"}, {-1, "-1 B"}, {1023, "1023 B"}, {1536, "1.5 KiB"},
		{-1048576, "-1.0 MiB"}, {INT64_MIN, "-8.0 EiB"}};
	char room[40];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hl_text_sink s = {.buf = room, .cap = sizeof(room)};

		hl_text_sink_bytes(&s, cases[i].n, 0);
		expect_text(cases[i].text, &s);
	}
}

/* Text that does not fit is counted all the same. */
static void test_small_buffer_counts_all_text(void **state)
{
	struct hl_tag_row rows[6];
	struct hl_tag_report r;
	char small[10], large[4096];
	struct hl_text_sink a = {.buf = small, .cap = sizeof(small)},
			    b = {.buf = large, .cap = sizeof(large)};

	make_report(&r, rows);
	hl_tag_text(&a, &r, 0);
	hl_tag_text(&b, &r, 0);
	assert_int_equal(a.len, 10);
	assert_int_equal(a.total, b.total);
	assert_int_equal(b.len, b.total);
	assert_memory_equal(small, large, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals_include_descendants),
		cmocka_unit_test(test_walk_visits_largest_first),
		cmocka_unit_test(test_find_sums_rows_by_path),
		cmocka_unit_test(test_quoted_text_is_escaped),
		cmocka_unit_test(test_bytes_have_units),
		cmocka_unit_test(test_small_buffer_counts_all_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
