/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_test.c - a trace that begins late: several parts, samples, aggregated blocks, side events,
 * calls in a wrong order, and bases that cannot be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/heap_sim_base.h"
#include "trace/read/reader.h"

#define NODES   50u
#define THREADS 2u

static char path[] = "/tmp/hl-base-XXXXXX";
static struct hl_file_status status;

static struct hl_meta make_meta(void)
{
	return (struct hl_meta){.program = "p",
		.command = "",
		.arch = "cpu",
		.clock = "tsc",
		.mode = "trace",
		.allocator = ""};
}

static void add_tables(struct hl_writer *w, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++) {
		struct hl_node n = {.parent = HL_NODE_NONE, .module = HL_MODULE_NONE, .offset = i};

		assert_int_equal(hl_writer_add_node(w, &n), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(hl_writer_add_thread(w, i), 0);
}

static struct hl_writer *open_early(const struct hl_meta *meta)
{
	struct hl_writer *w;

	assert_int_equal(hl_heap_sim_open_early(&w, meta, &status), 0);
	add_tables(w, NODES);
	return w;
}

static struct hl_writer *open_late(const struct hl_meta *meta)
{
	const struct hl_writer_options o = {.max_events = 1000};
	struct hl_writer *w;
	int fd;

	unlink(path);
	strcpy(path, "/tmp/hl-base-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(hl_writer_open_with(&w, fd, meta, &o), 0);
	add_tables(w, NODES);
	return w;
}

static void add_sim_events(struct hl_writer *w, struct hl_heap_sim *sim, size_t n)
{
	struct hl_event e;

	for (size_t i = 0; i < n || sim->moved; i++) {
		hl_heap_sim_next(sim, &e);
		assert_int_equal(hl_writer_add_event(w, &e), 0);
	}
}

/* The simulation itself is slow to reach many live blocks. */
static void add_kept_blocks(struct hl_writer *w, struct hl_heap_sim *sim, uint32_t n)
{
	struct hl_event e;

	for (uint32_t i = 0; i < n; i++) {
		sim->now_ns += HL_TIME_UNIT_NS;
		hl_heap_sim_alloc(sim, &e, i % NODES, 1 + i % 300, true);
		assert_int_equal(hl_writer_add_event(w, &e), 0);
	}
}

static void end_trace(struct hl_writer *w)
{
	const struct hl_end end = {.kind = HL_END_EXIT};
	const struct hl_counters counters = {0};

	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
}

static struct hl_reader *open_trace(const struct hl_trace_info **info)
{
	struct hl_reader_refusal why;
	struct hl_reader *r;

	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_info(r, info), 0);
	return r;
}

/* Compares the chunks of the base with a list of blocks by ordinal. */
static void assert_base_blocks(struct hl_reader *r, const struct hl_heap_sim *sim,
	const struct hl_heap_sim_block *want, size_t n)
{
	struct hl_chunk_events c = {0};
	size_t at = 0;

	for (size_t i = 0; i < hl_reader_n_base_chunks(r); i++) {
		assert_int_equal(hl_reader_decode(r, i, &c), 0);
		for (size_t k = 0; k < c.n_events; k++, at++) {
			const struct hl_event *e = &c.events[k];
			uint64_t blocks, bytes;

			assert_true(at < n);
			hl_heap_sim_weight(sim, &want[at], &blocks, &bytes);
			assert_int_equal(e->op, HL_OP_ALLOC);
			assert_int_equal(e->ordinal, at);
			assert_int_equal(hl_reader_run_ordinal(r, e->ordinal), want[at].ordinal);
			assert_int_equal(e->addr, want[at].addr);
			assert_int_equal(e->size, want[at].size);
			assert_int_equal(e->time_ns, want[at].alloc_ns);
			assert_int_equal(e->node, want[at].node);
			assert_int_equal(e->thread, want[at].thread);
			assert_int_equal(e->func, want[at].func);
			assert_int_equal(e->blocks, blocks);
			assert_int_equal(e->bytes, bytes);
		}
	}
	assert_int_equal(at, n);
	hl_chunk_events_free(&c);
}

static void base_of_several_parts_has_all_blocks(void **state)
{
	struct hl_meta meta = make_meta();
	const struct hl_trace_info *info;
	struct hl_heap_sim_block *live;
	struct hl_writer *early, *w;
	struct hl_heap_sim sim;
	struct hl_reader *r;
	size_t n;

	for (int samples = 0; samples < 2; samples++) {
		assert_int_equal(hl_heap_sim_init(&sim, 3, NODES, THREADS, 40000), 0);
		sim.samples = samples;
		meta.base = (struct hl_base){0};
		early = open_early(&meta);
		add_sim_events(early, &sim, 20000);
		add_kept_blocks(early, &sim, 40000);
		n = sim.n_live;
		assert_true(n > 2 * 16384);
		live = malloc(n * sizeof(*live));
		memcpy(live, sim.live, n * sizeof(*live));
		qsort(live, n, sizeof(*live), hl_heap_sim_compare);
		assert_int_equal(hl_writer_describe_base(early, 0, n, &meta.base), 0);
		w = open_late(&meta);
		assert_int_equal(hl_heap_sim_write_base(w, early, &sim), 0);
		add_sim_events(w, &sim, 5000);
		end_trace(w);

		r = open_trace(&info);
		assert_false(info->damaged);
		assert_true(info->meta.base.is_late);
		assert_int_equal(info->meta.base.blocks, n);
		assert_int_equal(hl_reader_n_base_chunks(r), (n + 16383) / 16384);
		assert_base_blocks(r, &sim, live, n);
		assert_int_equal(hl_reader_verify(r, NULL), 0);
		assert_int_equal(hl_reader_info(r, &info), 0);
		assert_false(info->damaged);
		hl_reader_close(r);
		free(live);
		hl_heap_sim_fini(&sim);
	}
}

static const struct hl_event an_alloc = {.op = HL_OP_ALLOC,
	.size = 8,
	.addr = 16,
	.node = 1,
	.free_node = HL_NODE_NONE,
	.blocks = 1,
	.bytes = 8};

/* A mode without blocks: the base is a keyframe alone, and sums continue. */
static void sums_of_aggregated_blocks_continue(void **state)
{
	struct hl_meta meta = make_meta();
	const struct hl_trace_info *info;
	struct hl_writer *early = open_early(&meta), *w;
	struct hl_event e = an_alloc;
	struct hl_base_place place;
	struct hl_reader *r;

	for (int i = 0; i < 10; i++) {
		e.time_ns = (uint64_t)i * 64;
		assert_int_equal(hl_writer_add_event_sums_only(early, &e), 0);
	}
	assert_int_equal(hl_writer_describe_base(early, 6400, 0, &meta.base), 0);
	assert_int_equal(meta.base.events, 0);
	w = open_late(&meta);
	assert_int_equal(hl_writer_begin_base(w, early, &place), 0);
	assert_int_equal(hl_writer_end_base(w), 0);
	hl_writer_close(early);
	e.time_ns = 12800;
	assert_int_equal(hl_writer_add_event_sums_only(w, &e), 0);
	end_trace(w);
	r = open_trace(&info);
	assert_false(info->damaged);
	assert_int_equal(info->totals.sums.alloc_blocks, 11);
	assert_int_equal(info->aggregated.alloc_blocks, 11);
	assert_int_equal(info->meta.base.time_ns, 6400);
	assert_int_equal(hl_reader_n_base_chunks(r), 0);
	assert_int_equal(hl_reader_base_keyframe(r), 0);
	hl_reader_close(r);
}

/* Side events of the base keep their own times, before those of its blocks' last event. */
static void side_events_of_the_base_keep_their_times(void **state)
{
	const struct hl_extra name = {.kind = HL_EXTRA_THREAD_NAME,
		.time_ns = 64,
		.node = HL_NODE_NONE,
		.text = "worker"};
	struct hl_meta meta = make_meta();
	const struct hl_trace_info *info;
	struct hl_writer *early = open_early(&meta), *w;
	struct hl_event e = an_alloc;
	struct hl_chunk_events c = {0};
	struct hl_base_place place;
	struct hl_reader *r;

	e.time_ns = 6400;
	assert_int_equal(hl_writer_add_event(early, &e), 0);
	e.op = HL_OP_FREE;
	assert_int_equal(hl_writer_add_event(early, &e), 0);
	assert_int_equal(hl_writer_describe_base(early, 0, 0, &meta.base), 0);
	w = open_late(&meta);
	assert_int_equal(hl_writer_begin_base(w, early, &place), 0);
	assert_int_equal(hl_writer_add_extra(w, &name), 0);
	assert_int_equal(hl_writer_end_base(w), 0);
	hl_writer_close(early);
	e = an_alloc;
	e.ordinal = 1; /* ordinals continue */
	e.time_ns = 128;
	assert_int_equal(hl_writer_add_event(w, &e), 0);
	end_trace(w);
	r = open_trace(&info);
	assert_false(info->damaged);
	assert_int_equal(hl_reader_n_base_chunks(r), 1);
	assert_int_equal(hl_reader_n_chunks(r), 2);
	assert_int_equal(hl_reader_decode(r, 0, &c), 0);
	assert_int_equal(c.n_extras, 1);
	assert_int_equal(c.extras[0].time_ns, 64);
	assert_int_equal(hl_reader_decode(r, 1, &c), 0);
	assert_int_equal(c.events[0].time_ns, 6400); /* times never decrease */
	assert_int_equal(hl_reader_run_ordinal(r, c.events[0].ordinal), 1);
	hl_chunk_events_free(&c);
	hl_reader_close(r);
}

static void base_inside_a_realloc_must_wait(void **state)
{
	struct hl_meta meta = make_meta();
	struct hl_writer *early = open_early(&meta);
	struct hl_event e = an_alloc;
	struct hl_base base;

	assert_int_equal(hl_writer_add_event(early, &e), 0);
	e.op = HL_OP_FREE;
	e.flags = HL_EVENT_MOVED;
	assert_int_equal(hl_writer_add_event(early, &e), 0);
	assert_int_equal(hl_writer_describe_base(early, 0, 0, &base), -EAGAIN);
	e.op = HL_OP_ALLOC;
	e.ordinal = 1;
	assert_int_equal(hl_writer_add_event(early, &e), 0);
	assert_int_equal(hl_writer_describe_base(early, 0, 1, &base), 0);
	assert_int_equal(hl_writer_describe_base(early, 0, 3, &base), -EINVAL);
	hl_writer_close(early);
}

static void base_needs_the_tables_of_the_run(void **state)
{
	struct hl_meta meta = make_meta();
	struct hl_writer *early = open_early(&meta), *w;
	struct hl_base_place place;

	assert_int_equal(hl_writer_describe_base(early, 0, 0, &meta.base), 0);
	w = open_late(&meta);
	assert_int_equal(hl_writer_add_thread(w, 99), 0);
	assert_int_equal(hl_writer_begin_base(w, early, &place), -EINVAL);
	hl_writer_close(w);
	hl_writer_close(early);
}

static int next_from_list(void *arg, struct hl_live_block *b, uint8_t *func)
{
	struct hl_live_block **at = arg;

	*b = *(*at)++;
	*func = HL_FUNC_UNKNOWN;
	return 0;
}

static void writer_refuses_blocks_that_cannot_be(void **state)
{
	static const struct hl_base_place place = {
		.blocks = 2, .allocs = 10, .time_ns = 6400, .n_nodes = 5, .n_threads = 1};
	const struct hl_live_block good = {.ordinal = 3, .node = 4, .alloc_ns = 64},
				   bad[] = {{.ordinal = 3, .node = 4}, {.ordinal = 2},
					   {.ordinal = 10}, {.ordinal = 4, .node = 5},
					   {.ordinal = 4, .thread = 1},
					   {.ordinal = 4, .alloc_ns = 6464}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hl_live_block list[] = {good, bad[i]}, *at = list;
		const struct hl_base_blocks blocks = {next_from_list, &at};

		assert_int_equal(
			hl_base_blocks_write(&place, &blocks, hl_heap_sim_discard, NULL), -EINVAL);
	}
}

/* The writer gets other limits than the file has, so that it writes what a forger would. */
static void reader_refuses_blocks_that_cannot_be(void **state)
{
	const struct hl_live_block lies[] = {
		{.addr = 16, .size = 8, .ordinal = 0, .node = NODES + 3},
		{.addr = 16, .size = 8, .ordinal = 0, .thread = THREADS},
		{.addr = UINT64_MAX - 7, .size = 64, .ordinal = 0, .node = 1},
		{.addr = 16, .size = 8, .ordinal = 7, .node = 1}};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct hl_live_block list[] = {lies[i]}, *at = list;
		const struct hl_base_blocks blocks = {next_from_list, &at};
		struct hl_meta meta = make_meta();
		struct hl_writer *early = open_early(&meta), *w;
		const struct hl_trace_info *info;
		struct hl_chunk_events c = {0};
		struct hl_base_place place;
		struct hl_reader *r;

		assert_int_equal(hl_writer_add_event(early, &an_alloc), 0);
		assert_int_equal(hl_writer_describe_base(early, 6400, 1, &meta.base), 0);
		w = open_late(&meta);
		assert_int_equal(hl_writer_begin_base(w, early, &place), 0);
		place.allocs = i == 3 ? 8 : place.allocs;
		place.n_nodes = NODES + 9;
		place.n_threads = THREADS + 9;
		assert_int_equal(hl_writer_add_base_blocks(w, &place, &blocks), 0);
		assert_int_equal(hl_writer_end_base(w), 0);
		hl_writer_close(early);
		end_trace(w);
		r = open_trace(&info);
		assert_int_not_equal(hl_reader_decode(r, 0, &c), 0);
		assert_true(hl_reader_chunk(r, 0)->lost);
		assert_int_equal(hl_reader_info(r, &info), 0);
		assert_true(info->damaged);
		hl_chunk_events_free(&c);
		hl_reader_close(r);
	}
}

static int remove_file(void **state)
{
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base_of_several_parts_has_all_blocks),
		cmocka_unit_test(sums_of_aggregated_blocks_continue),
		cmocka_unit_test(side_events_of_the_base_keep_their_times),
		cmocka_unit_test(base_inside_a_realloc_must_wait),
		cmocka_unit_test(base_needs_the_tables_of_the_run),
		cmocka_unit_test(writer_refuses_blocks_that_cannot_be),
		cmocka_unit_test(reader_refuses_blocks_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, remove_file);
}
