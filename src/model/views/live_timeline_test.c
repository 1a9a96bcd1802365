/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_timeline_test.c - columns of a timeline against a plain count of the events, of traces with
 * many chunks, where columns end between chunks.
 */
#include "model/model_internal.h"
#include "model/testing/test_fake_traces.h"
#include "model/views/filtered_peak.h"
#include "model/views/live_timeline.h"

#define COLUMNS 3000

/* The live bytes after each number of events. */
static uint64_t *count_live(const struct hl_fake_trace *s)
{
	uint64_t *live = calloc(s->n_events + 1, sizeof(*live));

	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];

		live[i + 1] = live[i] + (e->op == HL_OP_ALLOC ? e->size : -e->size);
	}
	return live;
}

/* The number of events before a time. */
static size_t events_before(const struct hl_fake_trace *s, uint64_t ns)
{
	return ns ? hl_fake_trace_prefix(s, ns - 1) : 0;
}

static uint64_t find_max(const uint64_t *live, size_t from, size_t to)
{
	uint64_t max = live[from];

	for (size_t i = from; i <= to; i++)
		max = live[i] > max ? live[i] : max;
	return max;
}

/* The events of the time at which a column ends may be divided between it and the next. The first
 * half of a realloc is no state of its own, so a maximum may be lower than that of all events. */
static void assert_column(const struct hl_fake_trace *s, const uint64_t *live, uint64_t begin_ns,
	const struct hl_timeline_bin *c)
{
	size_t from = events_before(s, begin_ns), to = hl_fake_trace_prefix(s, c->end_ns),
	       at = events_before(s, c->end_ns);

	assert_true(c->max_bytes >= c->end_bytes);
	assert_true(c->max_bytes <= find_max(live, from, to));
	while (at <= to && live[at] != c->end_bytes)
		at++;
	assert_true(at <= to);
}

static void assert_columns(const struct hl_fake_trace *s, struct hl_model *m, size_t n)
{
	struct hl_time_range all = hl_time_range_all(m);
	struct hl_timeline_bin *columns = calloc(n, sizeof(*columns));
	uint64_t highest = 0, *live = count_live(s);
	struct hl_peak peak;
	size_t moved = 0;

	assert_int_equal(hl_timeline_range(m, NULL, &all, columns, n, &peak), 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || columns[i].end_ns >= columns[i - 1].end_ns);
		moved += columns[i].end_ns != hl_time_range_end(&all, i, n);
		assert_column(s, live, i ? columns[i - 1].end_ns : 0, &columns[i]);
		highest = columns[i].max_bytes > highest ? columns[i].max_bytes : highest;
	}
	assert_int_equal(columns[n - 1].end_ns, all.to_ns);
	assert_int_equal(highest, peak.bytes);
	/* Each column ends in one chunk at most. */
	assert_true(n > HL_TIMELINE_CHUNKS || moved == 0);
	assert_true(n < COLUMNS || moved > 0);
	free(columns);
	free(live);
}

static void columns_end_between_chunks(void **state)
{
	const struct hl_fake_trace_opts o = {.seed = 8,
		.events = 200000,
		.nodes = 50,
		.threads = 2,
		.live = 500,
		.chunk = 100,
		.keyframe = 4000};
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &o), 0);
	m = open_model(s.path);
	assert_columns(&s, m, 10);
	assert_columns(&s, m, 60);
	assert_columns(&s, m, 200);
	assert_columns(&s, m, COLUMNS);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* However many columns there are, few events are decoded. */
static void few_chunks_are_decoded(void **state)
{
	const struct hl_fake_trace_opts o = {.seed = 9,
		.events = 100000,
		.nodes = 50,
		.threads = 2,
		.live = 500,
		.chunk = 100,
		.keyframe = 4000};
	struct hl_timeline_bin columns[COLUMNS];
	struct hl_fake_trace s;
	struct hl_peak peak;

	assert_int_equal(hl_fake_trace_make(&s, &o), 0);
	for (unsigned percent = 10; percent <= 100; percent += 30) {
		struct hl_model *m = open_model(s.path);
		struct hl_time_range r = {0, hl_model_end_ns(m) * percent / 100};

		assert_int_equal(hl_timeline_range(m, NULL, &r, columns, COLUMNS, &peak), 0);
		/* and one at each end of the range */
		assert_in_range(hl_model_events_decoded(m), 100, (HL_TIMELINE_CHUNKS + 6) * 100);
		hl_model_close(m);
	}
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_end_between_chunks),
		cmocka_unit_test(few_chunks_are_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
