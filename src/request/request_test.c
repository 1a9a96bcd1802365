/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_test.c - requests from key/value pairs, and the reasons why they are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above. */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "model/query/filter_names.h"
#include "request/request.h"

/* Fills a request from "KEY=VALUE;KEY". Returns the result of hl_request_set or hl_request_finish.
 */
static int fill(struct hl_request *r, char *pairs, const struct hl_notes *notes,
	struct hl_request_error *why)
{
	char *pair, *rest = pairs;

	*r = (struct hl_request){0};
	while ((pair = strsep(&rest, ";")) != NULL) {
		char *value = strchr(pair, '=');
		int err;

		if (value)
			*value++ = 0;
		err = *pair ? hl_request_set(r, pair, value, why) : 0;
		if (err)
			return err;
	}
	return hl_request_finish(r, notes, why);
}

static void rows_fill_a_request(void **state)
{
	char pairs[] = "growth=10%..50%;filter=size:>=4K;filter=fn:main;group=module;sites;"
		       "min=2%;limit=7;sort=blocks;top-down;include-function=a";
	struct hl_request_error why;
	struct hl_request r;

	assert_int_equal(fill(&r, pairs, NULL, &why), 0);
	assert_int_equal(r.quantity, HL_REQUEST_GROWTH);
	assert_true(r.ranged && r.needs_times && r.top_down);
	assert_int_equal(r.filters.len, 2);
	assert_int_equal(r.include_function.len, 1);
	assert_int_equal(r.parts.len, 2);
	assert_ptr_equal(r.parts.data[0].view, &hl_view_table);
	assert_int_equal(r.parts.data[0].group, HL_GROUP_MODULE);
	assert_ptr_equal(r.parts.data[1].view, &hl_view_sites);
	assert_true(r.min_given && r.min == 2 && r.limit == 7);
	assert_int_equal(r.sort, HL_SORT_BLOCKS);
	hl_request_fini(&r);
}

struct filter_case {
	char pairs[80];
	unsigned clauses;
	const char *described;
};

/* Each --filter is an expression of its own: a / or a quote does not reach into the next. */
static void filters_are_parsed_one_by_one(void **state)
{
	struct filter_case cases[] = {
		{"filter=size:>=4K;filter=fn:main", 2, "size:>=4K fn:main"},
		{"filter=file:/src/a;filter=file:/src/b/", 2, "file:/src/a file:/src/b/"},
		{"filter=fn:a\"b;filter=fn:c\"", 2, "fn:a\"b fn:c\""},
		{"filter=fn:/a fn:b/", 1, "fn:/a fn:b/"},
		{"filter=fn:\"a b\";filter=-fn:c", 2, "fn:\"a b\" -fn:c"},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_strbuf text = {0};
		struct hl_request_error why;
		struct hl_filter *f, *again;
		struct hl_filter_error error;
		struct hl_request r;

		assert_int_equal(fill(&r, cases[i].pairs, NULL, &why), 0);
		assert_int_equal(hl_request_make_filter(&r, &f, &why), 0);
		assert_int_equal(hl_filter_n_clauses(f), cases[i].clauses);
		hl_request_describe_filter(&r, &text);
		assert_string_equal(hl_strbuf_str(&text), cases[i].described);
		assert_int_equal(hl_filter_parse(&again, hl_strbuf_str(&text), &error), 0);
		assert_int_equal(hl_filter_n_clauses(again), cases[i].clauses);
		hl_filter_free(again);
		hl_filter_free(f);
		hl_strbuf_fini(&text);
		hl_request_fini(&r);
	}
}

static void options_of_a_request_are_complete(void **state)
{
	char pairs[] = "filter=size:>=4K;alloc-fn=my alloc;no-wrappers;include-function=a,b";
	struct hl_strbuf text = {0};
	struct hl_request_error why;
	struct hl_request r;

	assert_int_equal(fill(&r, pairs, NULL, &why), 0);
	hl_request_put_options(&r, &text);
	assert_string_equal(hl_strbuf_str(&text),
		" --filter 'size:>=4K fn:\"a,b\"' --alloc-fn='my alloc' --no-wrappers");
	hl_strbuf_fini(&text);
	hl_request_fini(&r);
}

static void refused_values_change_nothing(void **state)
{
	struct hl_request_error why;
	char pairs[] = "max-time=2s;max-rows=50;max-bytes=2M;min=7";
	struct hl_request r;

	assert_int_equal(fill(&r, pairs, NULL, &why), 0);
	for (int round = 0; round < 2; round++) {
		assert_true(r.budget.max_ns == UINT64_C(2000000000));
		assert_true(r.budget.max_rows == 50);
		assert_true(r.budget.max_bytes == 2 << 20);
		assert_true(r.min == 7);
		assert_int_equal(hl_request_set(&r, "min", "1e20", &why), -EINVAL);
		assert_int_equal(hl_request_set(&r, "max-time", "0", &why), -EINVAL);
		assert_int_equal(hl_request_set(&r, "max-rows", "0", &why), -EINVAL);
		assert_int_equal(hl_request_set(&r, "max-bytes", "99G9", &why), -EINVAL);
	}
	hl_request_fini(&r);
}

static void empty_request_is_the_peak(void **state)
{
	struct hl_request_error why;
	char pairs[] = "";
	struct hl_request r;

	assert_int_equal(fill(&r, pairs, NULL, &why), 0);
	assert_int_equal(r.quantity, HL_REQUEST_DEFAULT);
	assert_int_equal(r.parts.len, 0);
	assert_false(r.needs_times);
	hl_request_fini(&r);
}

static void a_refused_value_changes_nothing(void **state)
{
	struct hl_notes none = {0};
	struct hl_request r = {0};
	struct hl_request_error why;

	assert_int_not_equal(hl_request_set(&r, "sort", "colour", &why), 0);
	assert_false(r.sorted);
	assert_int_equal(hl_request_finish(&r, &none, &why), 0);
	hl_request_fini(&r);
}

static void refusals_have_a_reason(void **state)
{
	static const struct {
		const char *pairs, *reason;
	} rows[] = {
		{"nope=1", "unknown key \"nope\""},
		{"leaks=1", "leaks takes no value"},
		{"at", "at needs a value: TIME"},
		{"at=soon", "at: \"soon\" is not "},
		{"group=planet", "group: \"planet\" is not one of stack, function, "},
		{"sort=colour", "sort: \"colour\" is not one of bytes, blocks, average, name"},
		{"min=101", "a share from 0 to 100"},
		{"limit=-1", "a number"},
		{"temporary=0", "a duration such as 100us"},
		{"max-time=0", "max-time: \"0\" is not a duration from 1ns (units: ns, us"},
		{"max-time=-1s", "a duration from 1ns"},
		{"max-time=1e400", "such as 300ms or 2s"},
		{"max-time=10%", "such as 300ms or 2s"},
		{"max-time", "max-time needs a value: DURATION"},
		{"max-rows=0", "a number from 1"},
		{"max-rows=-1", "a number from 1"},
		{"max-rows=18446744073709551616", "a number from 1"},
		{"max-bytes=4095", "a size from 4K"},
		{"max-bytes=1T", "(units: K, M, G)"},
		{"max-bytes=1e400", "a size from 4K"},
		{"max-bytes=99999999999G", "a size from 4K"},
		{"range=5", "a range of times"},
		{"peak;leaks", "--peak and --leaks exclude each other"},
		{"at=1s;at=2s", "--at=1s and --at=2s exclude each other"},
		{"leaks;range=1s..2s", "--range applies to"},
		{"allocated;fragmentation", "--fragmentation needs a moment, not --allocated"},
		{"leaks;mmaps", "--mmaps lists the mappings of the whole run"},
		{"group=pool", "--group=pool needs --pool"},
		{"pool=x;threads", "--pool applies to the tree, --sizes, --lifetimes and --group, "
				   "not to --threads"},
		{"pool=x;group=snapshot", "not to --group=snapshot"},
		{"sort=name", "a tree is sorted by bytes or blocks"},
		{"freed-by;sort=name", "--sort=name does not apply to --freed-by"},
		{"freed-by;sort=blocks", "--sort=blocks does not apply to --freed-by"},
		{"fragmentation;sort=bytes", "--sort=bytes does not apply to --fragmentation"},
		{"timeline;sort=blocks", "--sort=blocks does not apply to --timeline"},
		{"mmaps;sort=blocks", "--sort=blocks does not apply to --mmaps"},
		{"threads;sort=name", "--sort=name does not apply to --threads"},
		{"snapshots;sort=average", "--sort=average does not apply to --snapshots"},
		{"group=process;sort=name", "--sort=name does not apply to --group=process"},
		{"timeline;threads;sort=name", "--sort=name does not apply to --timeline"},
		{"group=process;sites", "exclude each other"},
		{"filter=size:x", ""},
		{"filter=op=alloc", "report shows blocks, not events"},
		{"include-function=/(/", "--include-function: \"/(/\" at character "},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		struct hl_request_error why = {0};
		struct hl_request r;
		char pairs[100];

		strcpy(pairs, rows[i].pairs);
		assert_int_equal(fill(&r, pairs, NULL, &why), -EINVAL);
		assert_true(why.text[0]);
		if (!strstr(why.text, rows[i].reason))
			fail_msg("%s: %s", rows[i].pairs, why.text);
		hl_request_fini(&r);
	}
}

static void sort_is_followed_by_a_view(void **state)
{
	static const char *const rows[] = {"sort=bytes", "sort=blocks", "sizes;sort=name",
		"group=thread;sort=average", "freed-by;sort=bytes", "mmaps;sort=bytes",
		"threads;sort=blocks", "snapshot-deltas;sort=blocks", "group=process;sort=blocks",
		"timeline;sites;sort=name"};

	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		struct hl_request_error why = {0};
		struct hl_request r;
		char pairs[100];

		strcpy(pairs, rows[i]);
		if (fill(&r, pairs, NULL, &why))
			fail_msg("%s: %s", rows[i], why.text);
		hl_request_fini(&r);
	}
}

static void wrong_filter_is_located(void **state)
{
	char pairs[] = "filter=fn:a size:x";
	struct hl_request_error why;
	struct hl_request r;

	assert_int_equal(fill(&r, pairs, NULL, &why), -EINVAL);
	assert_string_equal(why.expr, "fn:a size:x");
	assert_true(why.at >= 5 && why.at < strlen(why.expr));
	hl_request_fini(&r);
}

static void count_note(void *arg, enum hl_note_kind kind, const char *text)
{
	*(int *)arg += strstr(text, "shows the whole run") != NULL;
}

static void ignored_times_are_noted(void **state)
{
	char pairs[] = "at=1s;timeline;threads;sites";
	int count = 0;
	const struct hl_notes notes = {.put = count_note, .arg = &count};
	struct hl_request_error why;
	struct hl_request r;

	assert_int_equal(fill(&r, pairs, &notes, &why), 0);
	assert_int_equal(count, 2);
	hl_request_fini(&r);
}

static void same_view_twice_is_one(void **state)
{
	char pairs[] = "sites;sites;group=site;sizes";
	struct hl_request_error why;
	struct hl_request r;

	assert_int_equal(fill(&r, pairs, NULL, &why), 0);
	assert_int_equal(r.parts.len, 3);
	hl_request_fini(&r);
}

static void output_for_one_view_takes_one(void **state)
{
	struct hl_request_error why;
	struct hl_request r = {.one_view = true};

	assert_int_equal(hl_request_set(&r, "sites", NULL, &why), 0);
	assert_int_equal(hl_request_set(&r, "sizes", NULL, &why), 0);
	assert_int_equal(hl_request_finish(&r, NULL, &why), -EINVAL);
	assert_non_null(strstr(why.text, "takes one view, but --sites and --sizes"));
	hl_request_fini(&r);
}

/* Every row can be found by its name, and no name occurs twice. */
static void names_of_rows_are_unique(void **state)
{
	for (const struct hl_opt *const *t = hl_request_tables; *t; t++) {
		for (const struct hl_opt *o = *t; !hl_opt_is_end(o); o++) {
			size_t found = 0;

			for (const struct hl_opt *const *u = hl_request_tables; *u; u++) {
				for (const struct hl_opt *p = *u; !hl_opt_is_end(p); p++)
					found += !strcmp(o->long_name, p->long_name);
			}
			assert_int_equal(found, 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_fill_a_request),
		cmocka_unit_test(filters_are_parsed_one_by_one),
		cmocka_unit_test(options_of_a_request_are_complete),
		cmocka_unit_test(refused_values_change_nothing),
		cmocka_unit_test(empty_request_is_the_peak),
		cmocka_unit_test(a_refused_value_changes_nothing),
		cmocka_unit_test(refusals_have_a_reason),
		cmocka_unit_test(sort_is_followed_by_a_view),
		cmocka_unit_test(wrong_filter_is_located),
		cmocka_unit_test(ignored_times_are_noted),
		cmocka_unit_test(same_view_twice_is_one),
		cmocka_unit_test(output_for_one_view_takes_one),
		cmocka_unit_test(names_of_rows_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
