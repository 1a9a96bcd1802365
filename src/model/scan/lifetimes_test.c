/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifetimes_test.c - lifetimes, site histories and sums by stack and thread against a plain count
 * of the events.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/views/site_history.h"
#include "model/query/sums_by_keys.h"
#include "model/scan/lifetimes.h"
#include "model/testing/test_fake_traces.h"

static const struct hl_query all = {
	.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_TIME_SPEC_END}};

struct expectation {
	const struct hl_fake_trace *s;
	size_t n; /* events so far */
	uint64_t blocks, bytes, left;
	uint64_t least_size; /* of the selected blocks */
	bool wrong;
};

static int check_event(void *arg, const struct hl_event *e)
{
	struct expectation *x = arg;
	const struct hl_event *want;

	while (x->n < x->s->n_events && x->s->events[x->n].size < x->least_size)
		x->n++;
	want = &x->s->events[x->n++];
	x->wrong |= x->n > x->s->n_events || e->op != want->op || e->size != want->size ||
		    e->ordinal != want->ordinal || e->time_ns != want->time_ns ||
		    e->node != want->node;
	return 0;
}

static int check_block(void *arg, const struct hl_block *b)
{
	struct expectation *x = arg;

	x->blocks++;
	x->bytes += b->size;
	x->left += b->free_ns == UINT64_MAX;
	x->wrong |= b->free_ns < b->alloc_ns || b->size < x->least_size;
	return 0;
}

/* With and without a filter, every event and every block is delivered once, in order. */
static void every_event_and_block_is_delivered_once_in_order(void **state)
{
	static const char *const filters[] = {NULL, "size:>=100", "size:>=100 life:>=0"};

	for (size_t k = 0; k < HL_ARRAY_LEN(samples) * HL_ARRAY_LEN(filters); k++) {
		const char *expr = filters[k % HL_ARRAY_LEN(filters)];
		struct hl_filter_error error;
		struct hl_query q = all;
		struct hl_fake_trace s;
		struct expectation x = {.s = &s, .least_size = expr ? 100 : 0};
		struct hl_lifetimes l = {.query = &q,
			.want = HL_WANT_ALL,
			.event = check_event,
			.block = check_block,
			.arg = &x};
		uint64_t blocks = 0, bytes = 0, left = 0;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k / HL_ARRAY_LEN(filters)]), 0);
		for (size_t i = 0; i < s.n_events; i++) {
			bool alloc = s.events[i].op == HL_OP_ALLOC;

			if (s.events[i].size < x.least_size)
				continue;
			blocks += alloc;
			bytes += alloc ? s.events[i].size : 0;
			left += alloc ? 1 : (uint64_t)-1;
		}
		m = open_model(s.path);
		if (expr)
			assert_int_equal(hl_filter_parse(&q.filter, expr, &error), 0);
		assert_int_equal(hl_model_lifetimes(m, &l), 0);
		assert_false(x.wrong || l.before_damage);
		assert_true(x.blocks == blocks && x.bytes == bytes && x.left == left);
		assert_true(l.allocated.blocks == blocks && l.allocated.bytes == bytes);
		hl_filter_free(q.filter);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

static uint32_t index_of_node(const struct hl_fake_trace *s, uint32_t node)
{
	return node == HL_NODE_NONE ? s->nodes : node;
}

static void site_histories_equal_plain_count(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace s;
		struct hl_site_history *want;
		struct hl_site_histories c;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		want = calloc((size_t)s.nodes + 1, sizeof(*want));
		for (size_t i = 0; i < s.n_events; i++) {
			const struct hl_event *e = &s.events[i];
			struct hl_site_history *w = &want[index_of_node(&s, e->node)];

			w->live_end.bytes += e->op == HL_OP_ALLOC ? e->size : -e->size;
			w->life_ns += e->op == HL_OP_FREE ? e->time_ns - e->alloc_ns : 0;
			if (w->live_end.bytes > w->max_live.bytes)
				w->max_live.bytes = w->live_end.bytes;
		}
		m = open_model(s.path);
		assert_int_equal(hl_model_site_histories(&c, m, &all, NULL), 0);
		for (size_t i = 0; i < c.n; i++) {
			struct hl_site_history *w = &want[index_of_node(&s, c.rows[i].node)];

			assert_true(c.rows[i].live_end.bytes == w->live_end.bytes);
			assert_true(c.rows[i].max_live.bytes == w->max_live.bytes);
			assert_true(c.rows[i].live_end.blocks || c.rows[i].life_ns == w->life_ns);
			w->max_live.bytes = 0; /* no other row has this node */
		}
		for (uint32_t i = 0; i <= s.nodes; i++)
			assert_true(want[i].max_live.bytes == 0);
		assert_true(c.at_peak.bytes == hl_model_info(m)->totals.peak_bytes);
		hl_site_histories_fini(&c);
		hl_model_close(m);
		hl_fake_trace_free(&s);
		free(want);
	}
}

/* Checks the answer by node and thread, from sums or from events, against a plain count up to the
 * moment. */
static void check_cross_sums(
	const struct hl_fake_trace *s, struct hl_model *m, uint64_t ns, bool decode)
{
	struct hl_query q[2] = {{.quantity = HL_QUANTITY_LIVE, .to = {.ns = ns}, .decode = decode},
		{.quantity = HL_QUANTITY_ALLOCATED, .to = {.ns = ns}, .decode = decode}};
	size_t n = hl_fake_trace_prefix(s, ns), threads = 64;
	uint64_t *want[2] = {
		calloc((s->nodes + 1) * threads, 8), calloc((s->nodes + 1) * threads, 8)};
	struct hl_cross_sums c[2];

	for (size_t i = 0; i < n; i++) {
		const struct hl_event *e = &s->events[i];
		size_t at = index_of_node(s, e->node) * threads + hl_event_alloc_role(e);

		want[0][at] += e->op == HL_OP_ALLOC ? e->size : -e->size;
		want[1][at] += e->op == HL_OP_ALLOC ? e->size : 0;
	}
	assert_int_equal(hl_model_cross_sums(m, q, c, 2), 0);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < c[k].n; i++)
			want[k][index_of_node(s, c[k].rows[i].node) * threads +
				c[k].rows[i].role.thread] -= c[k].rows[i].value.bytes;
		for (size_t i = 0; i < (s->nodes + 1) * threads; i++)
			assert_true(want[k][i] == 0);
		hl_cross_sums_fini(&c[k]);
		free(want[k]);
	}
}

static void sums_by_stack_and_thread_equal_plain_count(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace s;
		struct hl_model *m;

		assert_true(samples[k].threads <= 64);
		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		m = open_model(s.path);
		for (uint64_t i = 0; i <= 20; i++)
			check_cross_sums(&s, m, s.duration_ns * i / 20, i % 2);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_and_block_is_delivered_once_in_order),
		cmocka_unit_test(site_histories_equal_plain_count),
		cmocka_unit_test(sums_by_stack_and_thread_equal_plain_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
