/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_test.c - how often the page of a report reads the events: at most twice, since all queries
 * of the page share a scan, and with a filter the peak is found by a scan before that.
 */
#include "views/export/html/html.h"

#include "model/testing/test_fake_traces.h"

/* Stacks whose called function is not known are looked up in a few chunks more, and the moments of
 * verdicts from the nearest keyframe. */
#define LOOKUPS_PERCENT 50

static const struct hl_fake_trace_opts trace_opts = {.seed = 11,
	.events = 300000,
	.nodes = 60,
	.threads = 4,
	.live = 3000,
	.chunk = 500,
	.keyframe = 30000,
	.tags = true};

/* Returns the number of events decoded for a page, in percent of the events of the trace. */
static unsigned percent_decoded(const char *path, struct hl_export_job *x, const char *filter)
{
	struct hl_filter_error error;
	uint64_t decoded;
	char *text = NULL;
	size_t len;

	if (filter)
		assert_int_equal(hl_filter_parse(&x->query.filter, filter, &error), 0);
	assert_int_equal(hl_suppressions_new(&x->suppressions), 0);
	assert_int_equal(hl_suppressions_add_defaults(x->suppressions), 0);
	x->m = open_model(path);
	x->out = open_memstream(&text, &len);
	decoded = hl_reader_events_decoded(hl_model_reader(x->m));
	if (hl_export_write(hl_export_find("html"), x) < 0)
		fail_msg("%s", hl_model_error(x->m));
	decoded = hl_reader_events_decoded(hl_model_reader(x->m)) - decoded;
	fclose(x->out);
	assert_true(len > 10000);
	free(text);
	hl_filter_free(x->query.filter);
	hl_suppressions_free(x->suppressions);
	hl_model_close(x->m);
	return (unsigned)(decoded * 100 / trace_opts.events);
}

static void a_page_reads_the_events_at_most_twice(void **state)
{
	static const struct {
		const char *filter;
		enum hl_quantity quantity;
		unsigned scans;
	} cases[] = {
		{NULL, HL_QUANTITY_LIVE, 1},
		{NULL, HL_QUANTITY_GROWTH, 1},
		{"size>=64", HL_QUANTITY_LIVE, 2},
		{"thread:1", HL_QUANTITY_TEMPORARY, 2},
		{"fn:0x10", HL_QUANTITY_LIVE, 2},
		{"addr:0x0..0xffffffffffff", HL_QUANTITY_LIVE, 2},
		/* Lifetimes are known only at the frees, so one scan more selects the blocks. */
		{"life:<1ms", HL_QUANTITY_LIVE, 3},
	};
	struct hl_fake_trace s;

	assert_int_equal(hl_fake_trace_make(&s, &trace_opts), 0);
	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_export_job x = {.title = "test",
			.filter_text = cases[i].filter ? cases[i].filter : "",
			.quantity_given = cases[i].quantity != HL_QUANTITY_LIVE,
			.query = {.quantity = cases[i].quantity,
				.from = {.kind = HL_TIME_SPEC_PERCENT, .percent = 20},
				.to = {.kind = HL_TIME_SPEC_PERCENT, .percent = 70}}};
		unsigned percent = percent_decoded(s.path, &x, cases[i].filter);

		print_message("%s: %u %% of the events decoded\n", x.filter_text, percent);
		assert_in_range(percent, cases[i].scans == 1 ? 90 : 0,
			cases[i].scans * 100 + LOOKUPS_PERCENT);
	}
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_reads_the_events_at_most_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
