/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_test.c - answers from keyframes and summaries against a plain count of the events, on
 * undamaged and on damaged traces.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/query/query.h"
#include "model/testing/test_fake_traces.h"

static void query_live(
	struct hl_model *m, struct hl_time_spec when, const char *filter, struct hl_answer *a)
{
	struct hl_query q = {.quantity = HL_QUANTITY_LIVE, .to = when};
	struct hl_filter_error error;

	if (filter)
		assert_int_equal(hl_filter_parse(&q.filter, filter, &error), 0);
	if (hl_model_query(m, &q, a))
		fail_msg("query at %" PRIu64 ": %s", when.ns, hl_model_error(m));
	hl_filter_free(q.filter);
}

/* The number of events up to the earliest maximum of the plain count. */
static size_t find_peak(const struct hl_fake_trace *s)
{
	uint64_t live = 0, peak = 0;
	size_t at = 0;

	for (size_t i = 0; i < s->n_events; i++) {
		live += s->events[i].op == HL_OP_ALLOC ? s->events[i].size : -s->events[i].size;
		if (live > peak) {
			peak = live;
			at = i + 1;
		}
	}
	return at;
}

static void check_moment(
	const struct hl_fake_trace *s, struct hl_model *m, struct hl_time_spec when, size_t prefix)
{
	struct hl_fake_trace_value *want = hl_fake_trace_live(s, prefix);
	struct hl_answer a;

	query_live(m, when, NULL, &a);
	assert_true(!a.before_damage ||
		    when.ns > s->duration_ns); /* the end of one sample is not known */
	if (!equal(&a, want))
		fail_msg("%s: live at %" PRIu64 " (kind %d) differs", s->path, when.ns,
			(int)when.kind);
	hl_answer_fini(&a);
	/* The same by decoding: this filter holds for every block. */
	query_live(m, when, "size>=0", &a);
	if (!equal(&a, want))
		fail_msg("%s: live at %" PRIu64 " (kind %d) by decoding differs", s->path, when.ns,
			(int)when.kind);
	hl_answer_fini(&a);
	free(want);
}

/* 200 random moments, the peak and the end of each sample. */
static void live_sums_equal_plain_count(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace s;
		struct hl_model *m;
		uint64_t rng = k;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		m = open_model(s.path);
		for (int i = 0; i < 200; i++) {
			/* Half of them exactly at an event. */
			struct hl_time_spec w = {.ns = hl_hash_u64(rng++) % (s.duration_ns + 200)};

			if (i % 2)
				w.ns = s.events[hl_hash_u64(rng++) % s.n_events].time_ns;
			check_moment(&s, m, w, hl_fake_trace_prefix(&s, w.ns));
		}
		check_moment(
			&s, m, (struct hl_time_spec){.kind = HL_TIME_SPEC_PEAK}, find_peak(&s));
		check_moment(&s, m, (struct hl_time_spec){.kind = HL_TIME_SPEC_END}, s.n_events);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

/* The expected sums of the blocks that a filter selects; the filter is evaluated at the
 * allocation. */
static struct hl_fake_trace_value *filtered_live(
	const struct hl_fake_trace *s, size_t n, bool (*fits)(const struct hl_event *e))
{
	struct hl_fake_trace_value *v = calloc((size_t)s->nodes + 1, sizeof(*v));
	bool *fit = calloc(s->n_events + 1, sizeof(*fit));

	for (size_t i = 0; i < n; i++) {
		const struct hl_event *e = &s->events[i];
		struct hl_fake_trace_value *to = &v[e->node == HL_NODE_NONE ? s->nodes : e->node];

		if (e->op == HL_OP_ALLOC)
			fit[e->ordinal] = fits(e);
		if (!fit[e->ordinal])
			continue;
		to->bytes += e->op == HL_OP_ALLOC ? e->size : -e->size;
		to->blocks += e->op == HL_OP_ALLOC ? 1 : (uint64_t)-1;
	}
	free(fit);
	return v;
}

static bool fits_size(const struct hl_event *e)
{
	return e->size >= 64 && e->size < 1024;
}

static bool fits_func(const struct hl_event *e)
{
	return e->func == HL_FUNC_CALLOC && e->thread != 1;
}

static bool fits_time(const struct hl_event *e)
{
	return e->time_ns >= 10000 && e->time_ns <= 100000;
}

static void filtered_live_sums_equal_plain_count(void **state)
{
	static const struct {
		const char *expr;
		bool (*fits)(const struct hl_event *e);
	} cases[] = {
		{"size>=64 size<1K", fits_size},
		{"func=calloc !thread=1", fits_func},
		{"time=10us..100us", fits_time},
	};

	for (size_t k = 0; k < 4; k++) {
		struct hl_fake_trace s;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		m = open_model(s.path);
		for (size_t c = 0; c < HL_ARRAY_LEN(cases); c++) {
			for (int i = 0; i <= 4; i++) {
				struct hl_time_spec w = {.ns = s.duration_ns * (uint64_t)i / 4};
				struct hl_fake_trace_value *want = filtered_live(
					&s, hl_fake_trace_prefix(&s, w.ns), cases[c].fits);
				struct hl_answer a;

				query_live(m, w, cases[c].expr, &a);
				if (!equal(&a, want))
					fail_msg("sample %zu, %s at %" PRIu64, k, cases[c].expr,
						w.ns);
				hl_answer_fini(&a);
				free(want);
			}
		}
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

/* A filter on stacks uses sums and leaves out other stacks. */
static void stack_filter_leaves_out_other_stacks(void **state)
{
	struct hl_fake_trace s;
	struct hl_answer all, some, rest;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	query_live(m, (struct hl_time_spec){.kind = HL_TIME_SPEC_PEAK}, NULL, &all);
	query_live(m, (struct hl_time_spec){.kind = HL_TIME_SPEC_PEAK}, "function=0x1005", &some);
	query_live(m, (struct hl_time_spec){.kind = HL_TIME_SPEC_PEAK}, "!function=0x1005", &rest);
	assert_true(some.total.bytes > 0 && rest.total.bytes > 0);
	for (uint32_t i = 0; i <= all.n_keys; i++) {
		uint32_t n = i < all.n_keys ? i : HL_NODE_NONE;
		bool below = false;

		for (; n != HL_NODE_NONE; n = hl_model_parent(m, n))
			below |= n == 5;
		assert_int_equal(some.values[i].bytes, below ? all.values[i].bytes : 0);
		assert_int_equal(rest.values[i].bytes, below ? 0 : all.values[i].bytes);
	}
	hl_answer_fini(&all);
	hl_answer_fini(&some);
	hl_answer_fini(&rest);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

static void allocated_sums_equal_plain_count(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace s;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		m = open_model(s.path);
		for (int i = 0; i < 20; i++) {
			struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED};
			struct hl_fake_trace_value *want =
				calloc((size_t)s.nodes + 1, sizeof(*want));
			struct hl_answer a;

			q.from.ns = hl_hash_u64((uint64_t)i) % (s.duration_ns + 1);
			q.to.ns = q.from.ns + hl_hash_u64((uint64_t)i + 100) % (s.duration_ns + 1);
			for (size_t e = 0; e < s.n_events; e++) {
				const struct hl_event *ev = &s.events[e];
				struct hl_fake_trace_value *to =
					&want[ev->node == HL_NODE_NONE ? s.nodes : ev->node];

				if (ev->op != HL_OP_ALLOC || ev->time_ns < q.from.ns ||
					ev->time_ns > q.to.ns)
					continue;
				to->bytes += ev->size;
				to->blocks++;
			}
			assert_int_equal(hl_model_query(m, &q, &a), 0);
			if (!equal(&a, want))
				fail_msg("sample %zu: allocated %" PRIu64 "..%" PRIu64, k,
					q.from.ns, q.to.ns);
			hl_answer_fini(&a);
			free(want);
		}
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

/* --- damage --- */

static bool fits_all(const struct hl_event *e)
{
	return true;
}

/* Is this what was live after some number of events, none of them after a->to_ns? */
static bool is_earlier_state(const struct hl_fake_trace *s, const struct hl_answer *a,
	bool (*fits)(const struct hl_event *e))
{
	size_t n = hl_fake_trace_prefix(s, a->to_ns);
	bool found = false;

	/* Known data ends at a chunk boundary, and several events before it may have the same
	 * time. */
	for (size_t back = 0; back <= n && back < 2000 && !found; back++) {
		struct hl_fake_trace_value *v = filtered_live(s, n - back, fits);

		found = equal(a, v);
		free(v);
	}
	return found;
}

struct tally {
	unsigned exact, moved;
};

static void check_damaged(const struct hl_fake_trace *s, struct hl_model *m, struct hl_time_spec w,
	const char *expr, bool (*fits)(const struct hl_event *e), struct tally *tally)
{
	struct hl_fake_trace_value *want = filtered_live(s, hl_fake_trace_prefix(s, w.ns), fits);
	struct hl_answer a;

	query_live(m, w, expr, &a);
	if (hl_model_n_nodes(m) != s->nodes)
		; /* the end of the table of nodes is lost: values cannot be compared */
	else if (!a.before_damage && !equal(&a, want))
		fail_msg("%s: live at %" PRIu64 " is wrong and does not say so", s->path, w.ns);
	else if (a.before_damage && !is_earlier_state(s, &a, fits))
		fail_msg(
			"%s: live at %" PRIu64 " for %" PRIu64 " is wrong", s->path, a.to_ns, w.ns);
	tally->moved += a.before_damage;
	tally->exact += !a.before_damage;
	hl_answer_fini(&a);
	free(want);
}

static void check_damaged_peak(const struct hl_fake_trace *s, struct hl_model *m)
{
	struct hl_fake_trace_value *want = hl_fake_trace_live(s, find_peak(s));
	struct hl_answer a;

	query_live(m, (struct hl_time_spec){.kind = HL_TIME_SPEC_PEAK}, NULL, &a);
	/* Without its end, a file's peak is that of its readable part. */
	if (hl_model_n_nodes(m) == s->nodes && hl_model_info(m)->has_end && !a.before_damage &&
		!equal(&a, want))
		fail_msg("%s: the peak is wrong and does not say so", s->path);
	hl_answer_fini(&a);
	free(want);
}

/* Numbers are never wrong: an answer is for the requested moment, or says that it is for an earlier
 * one. */
static void damaged_traces_give_no_wrong_numbers(void **state)
{
	struct tally plain = {0}, filtered = {0};
	unsigned refused = 0;

	for (int round = 0; round < 60; round++) {
		const struct hl_fake_trace_opts *o = &samples[round % 4];
		struct hl_reader_refusal why;
		struct hl_fake_trace s;
		struct hl_model *m;
		struct stat st;

		assert_int_equal(hl_fake_trace_make(&s, o), 0);
		assert_int_equal(stat(s.path, &st), 0);
		for (int i = 0; i < 1 + round % 4; i++)
			flip(s.path,
				64 + hl_hash_u64((uint64_t)(round * 8 + i)) %
						((uint64_t)st.st_size - 164),
				1 + (size_t)round % 100);
		if (hl_model_open(&m, s.path, &why)) {
			refused++;
			hl_fake_trace_free(&s);
			continue;
		}
		for (int i = 0; i < 20; i++) {
			struct hl_time_spec w = {.ns = s.duration_ns * (uint64_t)i / 19};

			check_damaged(&s, m, w, NULL, fits_all, &plain);
			check_damaged(&s, m, w, "size>=64 size<1K", fits_size, &filtered);
		}
		check_damaged_peak(&s, m);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
	print_message("%u exact, %u of an earlier moment; filtered %u and %u; %u files refused\n",
		plain.exact, plain.moved, filtered.exact, filtered.moved, refused);
	assert_true(plain.exact > 500 && plain.moved > 10 && filtered.exact > 500 && refused == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_sums_equal_plain_count),
		cmocka_unit_test(filtered_live_sums_equal_plain_count),
		cmocka_unit_test(stack_filter_leaves_out_other_stacks),
		cmocka_unit_test(allocated_sums_equal_plain_count),
		cmocka_unit_test(damaged_traces_give_no_wrong_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
