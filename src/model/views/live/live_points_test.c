/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_points_test.c - columns of chunks have the values that their events add up to.
 */
#include "model/testing/test_fake_traces.h"

#include "base/bits.h"
#include "model/views/filtered_peak.h"
#include "model/views/live/live_points.h"

#define MOST 200

/* Adds the events of a chunk to the live bytes, and returns the maximum. */
static uint64_t add_events(struct hl_model *m, size_t chunk, uint64_t *live)
{
	struct hl_chunk_events events = {0};
	uint64_t max = *live;

	assert_int_equal(hl_reader_decode(hl_model_reader(m), chunk, &events), 0);
	for (size_t i = 0; i < events.n_events; i++) {
		const struct hl_event *e = &events.events[i];

		*live += e->op == HL_OP_ALLOC ? e->bytes : -e->bytes;
		if (!(e->flags & HL_EVENT_MOVED && e->op == HL_OP_FREE))
			max = hl_max_u64(max, *live);
	}
	hl_chunk_events_free(&events);
	return max;
}

/* Compares each point with the events of its chunks. */
static void check(struct hl_model *m, size_t most)
{
	const struct hl_time_range all = {0, hl_model_end_ns(m)};
	size_t chunks = hl_reader_n_chunks(hl_model_reader(m)), chunk = 0, n;
	struct hl_live_point points[MOST];
	uint64_t live = 0;

	assert_int_equal(hl_live_points(m, &all, points, most, &n), 0);
	assert_in_range(n, 1, most);
	for (size_t i = 0; i < n; i++) {
		uint64_t max = 0;

		assert_int_equal(
			points[i].from_ns, hl_reader_chunk(hl_model_reader(m), chunk)->t0_ns);
		for (size_t k = 0; k < (chunks + most - 1) / most && chunk < chunks; k++)
			max = hl_max_u64(max, add_events(m, chunk++, &live));
		assert_int_equal(
			points[i].to_ns, hl_reader_chunk(hl_model_reader(m), chunk - 1)->t1_ns);
		assert_int_equal(points[i].max_bytes, max);
		assert_int_equal(points[i].end_bytes, live);
		assert_false(points[i].lost);
	}
	assert_int_equal(chunk, chunks);
}

static void columns_of_chunks_are_exact(void **state)
{
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	assert_true(hl_reader_n_chunks(hl_model_reader(m)) > HL_LIVE_POINTS_CHUNKS);
	for (size_t most = 1; most <= MOST; most = most * 2 + 1)
		check(m, most);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

static void a_short_range_has_equal_columns(void **state)
{
	struct hl_fake_trace s;
	struct hl_model *m;
	struct hl_time_range r;
	struct hl_live_point points[MOST];
	struct hl_timeline_bin columns[MOST];
	struct hl_peak peak;
	size_t n;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	r = (struct hl_time_range){hl_model_end_ns(m) / 3, hl_model_end_ns(m) / 2};
	assert_int_equal(hl_live_points(m, &r, points, MOST, &n), 0);
	assert_int_equal(hl_timeline_range(m, NULL, &r, columns, MOST, &peak), 0);
	assert_int_equal(n, MOST);
	assert_int_equal(points[0].from_ns, r.from_ns);
	assert_int_equal(points[n - 1].to_ns, r.to_ns);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(points[i].max_bytes, columns[i].max_bytes);
		assert_int_equal(points[i].end_bytes, columns[i].end_bytes);
	}
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_of_chunks_are_exact),
		cmocka_unit_test(a_short_range_has_equal_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
