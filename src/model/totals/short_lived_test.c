/* SPDX-License-Identifier: Apache-2.0 */
/*
 * short_lived_test.c - the bounds are those of lifetime classes, and the number of short-lived
 * blocks is that of the plain list of events: from the sums of the trace and from its events, with
 * an end and without.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/attr.h"
#include "model/model_internal.h"
#include "model/scan/lifetime_class.h"
#include "model/totals/short_lived.h"
#include "model/testing/fake_trace.h"

static void bounds_are_the_nearest_of_classes(void **state)
{
	static const uint64_t wanted[HL_SHORT_LIVED_BOUNDS] = {1000, 100000, 10000000};

	(void)state;
	for (size_t i = 0; i < HL_SHORT_LIVED_BOUNDS; i++) {
		uint64_t best = UINT64_MAX, distance = UINT64_MAX;

		for (unsigned class = 0; class < 200; class ++) {
			uint64_t ns = hl_lifetime_class_ns((uint8_t) class);
			uint64_t d = ns > wanted[i] ? ns - wanted[i] : wanted[i] - ns;

			if (d < distance) {
				best = ns;
				distance = d;
			}
		}
		assert_int_equal(hl_short_lived_bounds[i], best);
	}
}

static uint64_t count_freed_below(const struct hl_fake_trace *s, uint64_t bound_ns)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];

		n += e->op == HL_OP_FREE && e->time_ns - e->alloc_ns < bound_ns;
	}
	return n;
}

static uint64_t count_allocations(const struct hl_fake_trace *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_events; i++)
		n += s->events[i].op == HL_OP_ALLOC;
	return n;
}

/* The index of the largest bound that is not above a tenth of the run. */
static size_t last_bound(const struct hl_fake_trace *s)
{
	return s->duration_ns < 983040 ? 0 : s->duration_ns < 104857600 ? 1 : 2;
}

static void check(const struct hl_fake_trace *s, const struct hl_short_lived *got)
{
	size_t last = last_bound(s), i = 0;
	uint64_t most = count_freed_below(s, hl_short_lived_bounds[last]);

	while (i < last && (most == 0 || count_freed_below(s, hl_short_lived_bounds[i]) * 2 < most))
		i++;
	assert_int_equal(got->bound_ns, hl_short_lived_bounds[i]);
	assert_int_equal(got->blocks, count_freed_below(s, hl_short_lived_bounds[i]));
	assert_int_equal(got->allocations, count_allocations(s));
	assert_true(fabs(hl_short_lived_percent(got) -
			    100.0 * (double)got->blocks / (double)got->allocations) < 1e-9);
}

static void check_classes(const struct hl_fake_trace *s, const struct hl_totals *t)
{
	uint64_t wanted[HL_LIFETIME_CLASSES_MAX] = {0};

	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];

		if (e->op == HL_OP_FREE)
			wanted[hl_lifetime_class(e->time_ns - e->alloc_ns)]++;
	}
	assert_memory_equal(wanted, t->lifetimes, sizeof(wanted));
}

static void check_trace(const struct hl_fake_trace_opts *o)
{
	struct hl_reader_refusal why;
	struct hl_short_lived got;
	struct hl_trace_info old;
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, o), 0);
	assert_int_equal(hl_model_open(&m, s.path, &why), 0);
	assert_true(m->info->has_lifetimes);
	check_classes(&s, &m->info->totals);
	assert_int_equal(hl_short_lived_find(m, 0, &got), 0);
	check(&s, &got);
	if (!o->no_end)
		assert_int_equal(hl_model_events_decoded(m), 0);
	/* as a trace from before there were such sums */
	old = *m->info;
	old.has_lifetimes = false;
	memset(old.totals.lifetimes, 0, sizeof(old.totals.lifetimes));
	m->info = &old;
	assert_int_equal(hl_short_lived_find(m, o->events, &got), 0);
	check(&s, &got);
	assert_int_equal(hl_short_lived_find(m, o->events - 1, &got), -ENODATA);
	assert_non_null(strstr(hl_model_error(m), "report --lifetimes"));
	/* a clock that gives only an order */
	old.meta.clock = "counter";
	assert_int_equal(hl_short_lived_find(m, UINT64_MAX, &got), -ENODATA);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

static void counts_are_those_of_the_events(void **state)
{
	static const struct hl_fake_trace_opts traces[] = {
		{.seed = 1, .events = 20000, .nodes = 50, .threads = 3, .live = 500},
		{.seed = 2, .events = 20000, .nodes = 50, .threads = 2, .live = 40, .chunk = 700},
		{.seed = 3, .events = 20000, .nodes = 9, .threads = 2, .live = 5, .keyframe = 900},
		{.seed = 4,
			.events = 20000,
			.nodes = 9,
			.threads = 2,
			.live = 4000,
			.chunk = 500,
			.keyframe = 3000,
			.no_end = true},
		{.seed = 5, .events = 9000, .nodes = 9, .threads = 1, .live = 90, .no_end = true},
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_LEN(traces); i++)
		check_trace(&traces[i]);
}

/* Writes one block after another: n[i] blocks of the lifetime ns[i]. */
static void write_blocks(int fd, const uint64_t ns[], const size_t n[])
{
	static const struct hl_meta meta = {.program = "/bin/sample", .clock = "tsc"};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_event e = {.node = HL_NODE_NONE, .free_node = HL_NODE_NONE, .size = 1};
	struct hl_writer *w;

	assert_int_equal(hl_writer_open(&w, fd, &meta), 0);
	hl_writer_add_thread(w, 1);
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < n[i]; k++, e.ordinal++) {
			e.op = HL_OP_ALLOC;
			e.func = HL_FUNC_MALLOC;
			e.alloc_ns = e.time_ns;
			assert_int_equal(hl_writer_add_event(w, &e), 0);
			e.op = HL_OP_FREE;
			e.func = HL_FUNC_FREE;
			e.time_ns += ns[i];
			assert_int_equal(hl_writer_add_event(w, &e), 0);
		}
	}
	end.duration_ns = e.time_ns;
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
}

static void bound_is_the_documented_one(void **state)
{
	static const uint64_t ns[4] = {960, 98240, 10485696, 10485760};
	static const struct {
		size_t n[4], bound, short_lived;
	} cases[] = {
		{{1, 1, 0, 1}, 0, 1}, /* half of those below 98.3 us; 10.4 ms are too short */
		{{0, 1, 0, 1}, 1, 1}, {{0, 0, 0, 1}, 1, 0}, /* none is below any bound */
		{{5, 5, 0, 11}, 0, 5}, /* a run of 115 ms: half of those below 10.5 ms */
		{{5, 6, 0, 11}, 1, 11}, {{5, 5, 11, 0}, 2, 21}, {{5, 5, 10, 1}, 1, 10},
		{{11, 0, 10, 1}, 0, 11}, {{0, 0, 0, 11}, 2, 0}, {{0, 0, 3, 9}, 2, 3},
		{{4, 0, 0, 0}, 0, 4},                        /* a run of 4 us */
		{{0, 4, 0, 0}, 0, 0}, {{0, 10, 0, 0}, 0, 0}, /* just below ten times 98.3 us, */
		{{1, 10, 0, 0}, 1, 11},                      /* and not below */
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		char path[] = "/tmp/hl-short-lived-XXXXXX";
		struct hl_reader_refusal why;
		struct hl_short_lived got;
		struct hl_model *m;

		write_blocks(mkstemp(path), ns, cases[i].n);
		assert_int_equal(hl_model_open(&m, path, &why), 0);
		assert_int_equal(hl_short_lived_find(m, 0, &got), 0);
		assert_int_equal(got.bound_ns, hl_short_lived_bounds[cases[i].bound]);
		assert_int_equal(got.blocks, cases[i].short_lived);
		hl_model_close(m);
		unlink(path);
	}
}

static void trace_without_frees(void **state)
{
	static const struct hl_fake_trace_opts o = {
		.seed = 1, .events = 1, .nodes = 1, .threads = 1, .live = 10};
	struct hl_reader_refusal why;
	struct hl_short_lived got;
	struct hl_fake_trace s;
	struct hl_model *m;

	(void)state;
	assert_int_equal(hl_fake_trace_make(&s, &o), 0);
	assert_int_equal(hl_model_open(&m, s.path, &why), 0);
	assert_int_equal(hl_short_lived_find(m, 0, &got), 0);
	assert_int_equal(got.bound_ns, hl_short_lived_bounds[0]);
	assert_int_equal(got.blocks, 0);
	assert_int_equal(got.allocations, 1);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_are_the_nearest_of_classes),
		cmocka_unit_test(counts_are_those_of_the_events),
		cmocka_unit_test(bound_is_the_documented_one),
		cmocka_unit_test(trace_without_frees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
