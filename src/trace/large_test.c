/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large_test.c - data that does not fit in one chunk: tables, keyframes, live sets and the index in
 * several parts.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/read/reader.h"
#include "trace/heap_sim.h"
#include "trace/write/writer.h"

#define NODES  400000u
#define EVENTS 600000u

static char path[] = "/tmp/hl-large-XXXXXX";

static struct hl_node make_node(uint32_t i)
{
	return (struct hl_node){.parent = i ? i / 2 : HL_NODE_NONE,
		.module = HL_MODULE_NONE,
		.offset = hl_hash_u64(i)};
}

static void add_live_set(struct hl_writer *w, const struct hl_heap_sim *sim)
{
	struct hl_live_block *b = calloc(sim->n_live, sizeof(*b));

	for (size_t i = 0; i < sim->n_live; i++) {
		const struct hl_heap_sim_block *s = &sim->live[i];

		b[i] = (struct hl_live_block){
			s->addr, s->size, s->ordinal, s->alloc_ns, s->node, s->thread, 1, s->size};
	}
	assert_int_equal(hl_writer_add_live_set(w, b, sim->n_live), 0);
	free(b);
}

static void write_trace(struct hl_totals *t, struct hl_heap_sim *sim)
{
	const struct hl_writer_options o = {
		.max_events = 20, .keyframe_events = 100000, .keyframe_share = 1};
	const struct hl_meta meta = {.program = "p"};
	const struct hl_end end = {.kind = HL_END_EXIT, .value = 3};
	const struct hl_counters counters = {0};
	struct hl_writer *w;
	struct hl_event e;

	assert_int_equal(hl_writer_open_with(&w, mkstemp(path), &meta, &o), 0);
	for (uint32_t i = 0; i < NODES; i++) {
		struct hl_node n = make_node(i);
		assert_int_equal(hl_writer_add_node(w, &n), 0);
	}
	assert_int_equal(hl_writer_add_thread(w, 1), 0);
	assert_int_equal(hl_heap_sim_init(sim, 1, NODES, 1, 40000), 0);
	hl_totals_init(t);
	for (uint32_t i = 0; i < EVENTS; i++) {
		hl_heap_sim_next(sim, &e);
		assert_int_equal(hl_writer_add_event(w, &e), 0);
		assert_int_equal(hl_totals_apply(t, &e), 0);
	}
	add_live_set(w, sim);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
}

static void check_keyframe(struct hl_reader *r, size_t i, const struct hl_totals *t)
{
	struct hl_node_totals *nodes = calloc(NODES, sizeof(*nodes));
	size_t used = 0;

	assert_int_equal(hl_reader_load_keyframe(r, i, nodes, NODES), 0);
	for (size_t k = 0; k < t->n_nodes; k++) {
		uint64_t bytes, blocks;

		hl_totals_at_peak(t, k, &bytes, &blocks);
		assert_memory_equal(
			&nodes[k].sums, &hl_totals_node(t, k)->sums, sizeof(struct hl_sums));
		assert_int_equal(nodes[k].peak_bytes, bytes);
		assert_int_equal(nodes[k].peak_blocks, blocks);
		used += nodes[k].sums.alloc_blocks > 0;
	}
	assert_true(used > 2 * 12288); /* at least three parts */
	free(nodes);
}

static void data_larger_than_a_chunk_round_trips(void **state)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_live_block *b;
	struct hl_totals t;
	struct hl_reader *r;
	struct hl_heap_sim sim;
	struct hl_node n, want;
	size_t len;

	write_trace(&t, &sim);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_false(info->damaged);
	assert_true(info->n_event_chunks > 3 * 4096); /* four INDEX chunks */
	assert_int_equal(info->totals.events, EVENTS);
	for (uint32_t i = 0; i < NODES; i++) {
		want = make_node(i);
		assert_int_equal(hl_reader_node(r, i, &n), 0);
		assert_memory_equal(&n, &want, sizeof(n));
	}
	assert_true(hl_reader_n_keyframes(r) > 2);
	check_keyframe(r, hl_reader_n_keyframes(r) - 1, &t);
	assert_int_equal(hl_reader_load_live_set(r, 0, &b, &len), 0);
	assert_int_equal(len, sim.n_live);
	assert_true(len > 16384);
	for (size_t i = 0; i < len; i++) {
		assert_int_equal(b[i].addr, sim.live[i].addr);
		assert_int_equal(b[i].ordinal, sim.live[i].ordinal);
		assert_int_equal(b[i].alloc_ns, sim.live[i].alloc_ns);
	}
	free(b);
	hl_reader_close(r);
	hl_totals_fini(&t);
	hl_heap_sim_fini(&sim);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_larger_than_a_chunk_round_trips),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
