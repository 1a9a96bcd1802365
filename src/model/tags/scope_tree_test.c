/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope_tree_test.c - a tree of scopes against a plain count of the events.
 */
#include "model/testing/test_fake_traces.h"

#include "model/tags/scope_tree.h"

/* Ranges in percent of the run. */
static const struct {
	double from, to;
	const char *filter;
} cases[] = {{0, 100, NULL}, {20, 70, NULL}, {0, 100, "size:>=0"}, {20, 70, "size:>=0"},
	{35, 36, "size:>=0"}, {0, 50, NULL}};

struct counts {
	struct hl_scope_sums by_tag[4], outside;
};

/* Tags as fake_trace.h makes them: odd thread 2n + 1 is in tag n. */
static void count_by_scope(
	const struct hl_fake_trace *s, uint64_t from_ns, uint64_t to_ns, struct counts *c)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < s->n_events && s->events[i].time_ns <= to_ns; i++) {
		const struct hl_event *e = &s->events[i];
		uint32_t who = hl_event_alloc_role(e);
		struct hl_scope_sums *t = who % 2 ? &c->by_tag[who / 2] : &c->outside;
		bool alloc = e->op == HL_OP_ALLOC;
		struct hl_value *v = alloc ? &t->allocated : &t->freed;

		t->live.bytes += alloc ? e->size : -e->size;
		t->live.blocks += alloc ? 1 : (uint64_t)-1;
		if (e->time_ns < from_ns)
			continue;
		v->bytes += e->size;
		v->blocks++;
	}
}

static void scope_trees_equal_plain_count(void **state)
{
	static const struct hl_fake_trace_opts opts = {.seed = 8,
		.events = 20000,
		.nodes = 40,
		.threads = 8,
		.live = 300,
		.chunk = 700,
		.keyframe = 1000,
		.has_odd_events = true,
		.tags = true};
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &opts), 0);
	m = open_model(s.path);
	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_query q = {
			.from = {.kind = HL_TIME_SPEC_PERCENT, .percent = cases[i].from},
			.to = {.kind = HL_TIME_SPEC_PERCENT, .percent = cases[i].to}};
		struct hl_filter_error error;
		struct hl_scope_tree t;
		struct counts c;

		if (cases[i].filter)
			assert_int_equal(hl_filter_parse(&q.filter, cases[i].filter, &error), 0);
		assert_int_equal(hl_scopes_build(&t, m, &q), 0);
		count_by_scope(&s, t.from_ns, t.to_ns, &c);
		assert_int_equal(t.n, 4);
		for (uint32_t k = 0; k < 4; k++) {
			assert_memory_equal(&t.rows[k].self, &c.by_tag[k], sizeof(c.by_tag[k]));
			assert_int_equal(t.rows[k].parent, k ? 0 : HL_TAG_NONE);
			assert_int_equal(t.rows[k].name[0], 'a' + (int)k);
		}
		assert_memory_equal(&t.outside, &c.outside, sizeof(c.outside));
		/* The other tags are nested in the first. */
		assert_memory_equal(&t.rows[1].total, &t.rows[1].self, sizeof(t.rows[1].self));
		assert_int_equal(t.rows[0].total.allocated.bytes,
			t.all.allocated.bytes - t.outside.allocated.bytes);
		assert_int_equal(t.rows[0].total.live.blocks,
			c.by_tag[0].live.blocks + c.by_tag[1].live.blocks +
				c.by_tag[2].live.blocks + c.by_tag[3].live.blocks);
		hl_scope_tree_fini(&t);
		hl_filter_free(q.filter);
	}
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(scope_trees_equal_plain_count)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
