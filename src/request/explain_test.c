/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_test.c - made-up views: each member of struct hl_view that --explain depends on, and the
 * refusal of a view whose data the trace does not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/attr.h"
#include "model/query/query_plan.h"
#include "model/testing/test_fake_traces.h"
#include "request/plan.h"

#define MOMENT (HL_VIEW_QUANTITY | HL_VIEW_MOMENT)

static const struct {
	struct hl_view view;
	uint32_t unknown; /* HL_UNKNOWN_* of the trace */
	const char *pairs;
	const char *text;
} rows[] = {
	{{.reads = "reads all"}, 0, "", "--made-up: reads all\n"},
	{{.reads = "reads all"}, 0, "filter=size:1", "--made-up: reads all\n"},
	{{.reads = "reads all", .reads_filtered = "reads more"}, 0, "filter=size:1",
		"--made-up: reads more\n"},
	{{.reads = "reads all", .needs = HL_UNKNOWN_THREADS}, HL_UNKNOWN_THREADS, "",
		"--made-up: reads all\n"},
	{{.reads = "reads all", .refuses = HL_UNKNOWN_THREADS}, HL_UNKNOWN_ADDRESSES, "",
		"--made-up: reads all\n"},
	{{.reads = "reads all", .refuses = HL_UNKNOWN_THREADS}, HL_UNKNOWN_THREADS, "",
		"--made-up: is refused: this needs data that the trace does not have: threads"},
	{{.reads = "reads all", .requires = HL_NEEDS_ORDER}, HL_UNKNOWN_ORDER, "",
		"--made-up: is refused: this needs the order of events"},
	{{.reads = "reads all", .flags = MOMENT, .requires = HL_NEEDS_ORDER | HL_NEEDS_EVENTS},
		HL_UNKNOWN_ORDER, "leaks",
		"--made-up, leaked (live at the end): is refused: this needs the order of events"},
	{{.reads = "reads all", .flags = MOMENT, .requires = HL_NEEDS_ORDER}, HL_UNKNOWN_ORDER,
		"leaks",
		"--made-up, leaked (live at the end): is refused: this needs the order of events"},
	{{.reads = "reads all", .flags = MOMENT, .requires = HL_NEEDS_EVENTS}, HL_UNKNOWN_ORDER,
		"leaks", "--made-up, leaked (live at the end): reads all\n"},
	{{.reads = "reads all", .requires = HL_NEEDS_FREE_STACKS}, 0, "",
		"--made-up: is refused: this trace has no stacks of frees: record"},
	{{.reads = "reads all", .requires = HL_NEEDS_MMAPS}, 0, "",
		"--made-up: is refused: this trace has no mappings: record"},
	{{.reads = "reads all", .flags = HL_VIEW_QUANTITY}, 0, "filter=size:1",
		"--made-up, live at the peak of blocks that match the filter: reads every event "
		"to find the peak of the matching blocks, then reads all\n"},
	{{.reads = "reads all", .flags = MOMENT}, 0, "filter=size:1",
		"--made-up, live at the peak of blocks that match the filter: reads every event "
		"to find the peak of the matching blocks, then reads all\n"},
};

static void explain(
	struct hl_model *m, const struct hl_view *view, const char *pairs, struct hl_strbuf *b)
{
	static const struct hl_notes notes;
	struct hl_request r = {0};
	struct hl_request_error why;
	char key[20];
	const char *value = strchr(pairs, '=');
	struct hl_plan *p;

	snprintf(key, sizeof(key), "%.*s", (int)strcspn(pairs, "="), pairs);
	if (*key)
		assert_int_equal(hl_request_set(&r, key, value ? value + 1 : NULL, &why), 0);
	assert_null(hl_request_add_view(
		&r, (struct hl_request_part){.view = view, .option = "--made-up"}));
	assert_int_equal(hl_request_finish(&r, NULL, &why), 0);
	assert_int_equal(hl_plan_new(&p, &r, m, &notes, &why), 0);
	hl_plan_explain(p, b);
	hl_plan_free(p);
	hl_request_fini(&r);
}

static void members_of_a_view_are_followed(void **state)
{
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[4]), 0);
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++) {
		struct hl_strbuf b = {0};

		m = open_model(s.path);
		((struct hl_meta *)&hl_model_info(m)->meta)->unknown = rows[i].unknown;
		explain(m, &rows[i].view, rows[i].pairs, &b);
		if (strncmp(hl_strbuf_str(&b), rows[i].text, strlen(rows[i].text)) != 0)
			fail_msg("row %zu: %s", i, hl_strbuf_str(&b));
		hl_strbuf_fini(&b);
		hl_model_close(m);
	}
	hl_fake_trace_free(&s);
}

/* Sums answer it, not events. */
static bool is_cheap(struct hl_model *m, const char *const *keys)
{
	static const struct hl_notes notes;
	struct hl_request r = {.one_view = true};
	struct hl_request_error why;
	struct hl_strbuf text = {0};
	struct hl_plan *p;
	bool cheap;

	for (size_t i = 0; i < 4 && keys[i]; i += 2)
		assert_int_equal(hl_request_set(&r, keys[i], keys[i + 1], &why), 0);
	assert_int_equal(hl_request_finish(&r, &notes, &why), 0);
	assert_int_equal(hl_plan_new(&p, &r, m, &notes, &why), 0);
	assert_true(hl_plan_has_times(p, &text));
	cheap = hl_plan_is_cheap(p);
	hl_strbuf_fini(&text);
	hl_plan_free(p);
	hl_request_fini(&r);
	return cheap;
}

static void cheap_plans_need_no_events(void **state)
{
	static const struct {
		const char *keys[4];
		bool cheap;
	} cases[] = {
		{{NULL}, true},
		{{"leaks", NULL}, true},
		{{"at", "50%"}, true},
		{{"growth", "10%..90%"}, false},
		{{"allocated", NULL}, true},
		{{"group", "module"}, true},
		{{"group", "thread", "allocated", NULL}, true},
		{{"group", "life"}, false},
		{{"timeline", NULL}, true}, /* of 80 chunks it decodes 64 at most */
		{{"timeline", NULL, "group", "site"}, true},
		{{"timeline", NULL, "group", "size"}, true},
		{{"timeline", NULL, "group", "call"}, false},
		{{"timeline", NULL, "range", "10%..20%"}, true},
		{{"timeline", NULL, "filter", "size:1"}, false},
		{{"filter", "thread:0"}, false},
		{{"sites", NULL}, false},
		{{"overview", NULL}, false},
		{{"threads", NULL}, false},
	};
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		if (is_cheap(m, cases[i].keys) != cases[i].cheap)
			fail_msg("case %zu", i);
	}
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

static int mark_as_run(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r)
{
	*(bool *)r->data = true;
	return 0;
}

/* Only what `refuses` names is refused, and the model says why. */
static void a_view_without_its_data_is_not_run(void **state)
{
	static const struct hl_view view = {
		.refuses = HL_UNKNOWN_CALLS, .data_size = sizeof(bool), .run = mark_as_run};
	static const uint32_t unknown[] = {0, HL_UNKNOWN_THREADS, HL_UNKNOWN_CALLS};
	static const struct hl_notes notes;
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[4]), 0);
	m = open_model(s.path);
	for (size_t i = 0; i < HL_ARRAY_LEN(unknown); i++) {
		bool is_refused = unknown[i] & view.refuses;
		struct hl_request r = {0};
		struct hl_request_error why;
		struct hl_result *result;
		struct hl_plan *p;

		((struct hl_meta *)&hl_model_info(m)->meta)->unknown = unknown[i];
		assert_null(hl_request_add_view(
			&r, (struct hl_request_part){.view = &view, .option = "--made-up"}));
		assert_int_equal(hl_request_finish(&r, NULL, &why), 0);
		assert_int_equal(hl_plan_new(&p, &r, m, &notes, &why), 0);
		assert_int_equal(hl_plan_prepare(p), 0);
		assert_int_equal(hl_plan_run(p, 0, &result), is_refused ? -ENODATA : 0);
		if (is_refused) {
			assert_non_null(strstr(hl_model_error(m), "the called function"));
		} else {
			assert_true(*(bool *)result->data);
			hl_result_free(result);
		}
		hl_plan_free(p);
		hl_request_fini(&r);
	}
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(members_of_a_view_are_followed),
		cmocka_unit_test(a_view_without_its_data_is_not_run),
		cmocka_unit_test(cheap_plans_need_no_events)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
