/* SPDX-License-Identifier: Apache-2.0 */
/* totals_test.c - comparison with a naive model that checks all nodes after each event. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "trace/heap_sim.h"
#include "trace/totals.h"

#define NODES  20
#define EVENTS 4000

struct model {
	struct hl_sums sums[NODES];
	uint64_t peak_bytes, peak_blocks, peak_time;
	uint64_t at_peak_bytes[NODES], at_peak_blocks[NODES];
};

static void model_apply(struct model *m, const struct hl_event *e)
{
	struct hl_sums *s = &m->sums[e->node];
	uint64_t bytes = 0, blocks = 0;

	if (e->op == HL_OP_ALLOC) {
		s->alloc_blocks += e->blocks;
		s->alloc_bytes += e->bytes;
	} else {
		s->free_blocks += e->blocks;
		s->free_bytes += e->bytes;
	}
	for (int i = 0; i < NODES; i++) {
		bytes += hl_sums_live_bytes(&m->sums[i]);
		blocks += hl_sums_live_blocks(&m->sums[i]);
	}
	if (bytes <= m->peak_bytes)
		return;
	m->peak_bytes = bytes;
	m->peak_blocks = blocks;
	m->peak_time = e->time_ns;
	for (int i = 0; i < NODES; i++) {
		m->at_peak_bytes[i] = hl_sums_live_bytes(&m->sums[i]);
		m->at_peak_blocks[i] = hl_sums_live_blocks(&m->sums[i]);
	}
}

static void assert_equals_model(const struct model *m, const struct hl_totals *t)
{
	assert_int_equal(t->peak_bytes, m->peak_bytes);
	assert_int_equal(t->peak_blocks, m->peak_blocks);
	assert_int_equal(t->peak_time_ns, m->peak_time);
	for (size_t i = 0; i < NODES; i++) {
		uint64_t bytes, blocks;

		hl_totals_at_peak(t, i, &bytes, &blocks);
		assert_int_equal(bytes, m->at_peak_bytes[i]);
		assert_int_equal(blocks, m->at_peak_blocks[i]);
		if (i < t->n_nodes)
			assert_memory_equal(
				&hl_totals_node(t, i)->sums, &m->sums[i], sizeof(struct hl_sums));
	}
}

static void totals_equal_a_naive_model(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct model m = {0};
		struct hl_totals t;
		struct hl_heap_sim sim;
		uint64_t temporary = 0;
		struct hl_event e, before = {.op = HL_OP_FREE};

		hl_totals_init(&t);
		assert_int_equal(hl_heap_sim_init(&sim, seed, NODES, 3, 30), 0);
		for (int i = 0; i < EVENTS; i++) {
			hl_heap_sim_next(&sim, &e);
			temporary += e.op == HL_OP_FREE && before.op == HL_OP_ALLOC &&
				     e.ordinal == before.ordinal;
			before = e;
			assert_int_equal(hl_totals_apply(&t, &e), 0);
			model_apply(&m, &e);
			assert_equals_model(&m, &t);
		}
		assert_int_equal(t.temporary, temporary);
		assert_int_equal(t.events, EVENTS);
		hl_totals_fini(&t);
		hl_heap_sim_fini(&sim);
	}
}

static void earliest_maximum_wins(void **state)
{
	struct hl_event events[] = {
		{.time_ns = 64, .size = 10, .ordinal = 0, .node = 0},
		{.time_ns = 128, .size = 10, .ordinal = 0, .node = 0, .op = HL_OP_FREE},
		{.time_ns = 192, .size = 10, .ordinal = 1, .node = 1},
	};
	struct hl_totals t;
	uint64_t bytes, blocks;

	hl_totals_init(&t);
	for (int i = 0; i < 3; i++) {
		hl_event_set_weight(&events[i]);
		assert_int_equal(hl_totals_apply(&t, &events[i]), 0);
	}
	assert_int_equal(t.peak_time_ns, 64);
	hl_totals_at_peak(&t, 0, &bytes, &blocks);
	assert_int_equal(bytes, 10);
	hl_totals_at_peak(&t, 1, &bytes, &blocks);
	assert_int_equal(bytes, 0);
	assert_int_equal(t.temporary, 1);
	assert_int_equal(t.stacks, 2);
	hl_totals_fini(&t);
}

static void a_realloc_never_counts_twice(void **state)
{
	struct hl_event events[] = {
		{.size = 100, .ordinal = 0},
		{.size = 100, .ordinal = 0, .op = HL_OP_FREE, .flags = HL_EVENT_MOVED},
		{.size = 120, .ordinal = 1, .flags = HL_EVENT_MOVED},
	};
	struct hl_totals t;

	hl_totals_init(&t);
	for (int i = 0; i < 3; i++) {
		hl_event_set_weight(&events[i]);
		assert_int_equal(hl_totals_apply(&t, &events[i]), 0);
	}
	assert_int_equal(t.peak_bytes, 120);
	assert_int_equal(t.peak_blocks, 1);
	hl_totals_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_equal_a_naive_model),
		cmocka_unit_test(earliest_maximum_wins),
		cmocka_unit_test(a_realloc_never_counts_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
