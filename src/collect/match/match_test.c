/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_test.c - records with chosen stamps go through the rings of a region into a trace, which is
 * read back: order across rings, reallocs interleaved with other events, frees that do not fit,
 * hostile rings.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/drain/region.h"
#include "collect/control/steering.h"
#include "collect/output/write_queue.h"
#include "collect/match/sample_weight.h"
#include "ring/sample_filter.h"
#include "ring/ring_clock.h"
#include "ring/ring_record.h"
#include "trace/read/reader.h"

#define A UINT64_C(0x10000)
#define B UINT64_C(0x20000)
#define C UINT64_C(0x30000)

struct fixture {
	struct hl_collect_settings settings;
	struct hl_write_queue queue;
	struct hl_region_reader *reader;
	uint64_t t0;
	char dir[64], path[256];
	struct hl_reader *trace;
	const struct hl_trace_info *info;
	struct hl_chunk_events events;
};

static int setup(void **state)
{
	struct fixture *s = calloc(1, sizeof(*s));

	strcpy(s->dir, "/tmp/heaplapse-match-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	s->settings.memory_limit = SIZE_MAX;
	s->settings.output.pattern = "trace.hlt";
	s->settings.output.dir_fd = open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->queue.settings = &s->settings.output;
	assert_int_equal(hl_write_queue_start(&s->queue), 0);
	assert_int_equal(
		hl_region_open(&s->reader, -1, (uint64_t)getpid(), true, &s->settings, &s->queue),
		0);
	s->t0 = hl_ring_now(NULL);
	atomic_store(&s->reader->region->start_stamp, s->t0 & HL_STAMP_MASK);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *s = *state;

	hl_chunk_events_free(&s->events);
	if (s->trace)
		hl_reader_close(s->trace);
	hl_region_close(s->reader);
	unlink(s->path);
	close(s->settings.output.dir_fd);
	rmdir(s->dir);
	free(s);
	return 0;
}

static void claim_ring(struct fixture *s, uint32_t ring, uint32_t tid)
{
	struct hl_ring *r = hl_region_ring(s->reader->region, ring);

	r->tid = tid;
	atomic_fetch_add(&r->claim, 1);
	if (ring >= s->reader->region->rings_used)
		s->reader->region->rings_used = ring + 1;
	atomic_store(&r->state, HL_RING_OWNED);
}

/* Writes a record with stamp t0 + at. */
static void put_record(struct fixture *s, uint32_t ring, uint64_t at, uint32_t type, uint32_t func,
	int n, const uint64_t *words)
{
	struct hl_ring *r = hl_region_ring(s->reader->region, ring);
	uint64_t *data = hl_region_data(s->reader->region, ring), pos = r->head / 8;

	data[pos++ % (hl_ring_bytes(ring) / 8)] = hl_first_word(s->t0 + at, type, func);
	for (int i = 0; i < n; i++)
		data[pos++ % (hl_ring_bytes(ring) / 8)] = words[i];
	__atomic_store_n(&r->head, pos * 8, __ATOMIC_RELEASE);
}

static void put_alloc(struct fixture *s, uint32_t ring, uint64_t at, uint64_t addr, uint64_t size)
{
	put_record(s, ring, at, HL_REC_ALLOC, HL_FUNC_MALLOC, 3,
		(uint64_t[]){addr, hl_stack_word(size, 1, 0), 0x400000 + addr});
}

static void put_free(struct fixture *s, uint32_t ring, uint64_t at, uint64_t addr)
{
	put_record(s, ring, at, HL_REC_FREE, HL_FUNC_FREE, 1, (uint64_t[]){addr});
}

static void put_move_begin(struct fixture *s, uint32_t ring, uint64_t at, uint64_t old)
{
	put_record(s, ring, at, HL_REC_MOVE_BEGIN, HL_FUNC_REALLOC, 1, (uint64_t[]){old});
}

static void put_move_end(
	struct fixture *s, uint32_t ring, uint64_t at, uint64_t old, uint64_t addr, uint64_t size)
{
	put_record(s, ring, at, HL_REC_MOVE_END, HL_FUNC_REALLOC, 3,
		(uint64_t[]){addr, hl_stack_word(size, 0, 0), old});
}

/* Drains everything, ends the target, and opens its trace. */
static void finish(struct fixture *s)
{
	struct hl_reader_refusal why;
	struct hl_end end = {.kind = HL_END_EXIT};

	usleep(1000); /* all stamps are before that of the next scan */
	for (int i = 0; i < 3; i++)
		hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->targets.len, 1);
	hl_region_end_process(s->reader, s->reader->targets.data[0], &end);
	hl_write_queue_stop(&s->queue);
	snprintf(s->path, sizeof(s->path), "%s/trace.hlt", s->dir);
	assert_int_equal(hl_reader_open(&s->trace, s->path, &why), 0);
	assert_int_equal(hl_reader_info(s->trace, &s->info), 0);
	if (hl_reader_n_chunks(s->trace))
		assert_int_equal(hl_reader_decode(s->trace, 0, &s->events), 0);
}

/* Format of `expected`: "a1 f1 A2". a: allocation, f: free, i: implicit free, capitals: MOVED; then
 * the ordinal. */
static void expect_events(struct fixture *s, const char *expected)
{
	char got[256] = "", *at = got;

	for (size_t i = 0; i < s->events.n_events; i++) {
		const struct hl_event *e = &s->events.events[i];
		char c = e->op == HL_OP_ALLOC ? 'a' : e->func == HL_FUNC_IMPLICIT ? 'i' : 'f';

		if (e->flags & HL_EVENT_MOVED)
			c = (char)(c - 'a' + 'A');
		at += sprintf(at, "%s%c%d", i ? " " : "", c, (int)e->ordinal);
	}
	assert_string_equal(got, expected);
}

static void merges_rings_by_stamp(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	claim_ring(s, 1, 12);
	put_alloc(s, 1, 20000, B, 2);
	put_free(s, 1, 30000, A);
	put_alloc(s, 0, 10000, A, 1);
	put_alloc(s, 0, 40000, A, 3);
	finish(s);
	expect_events(s, "a0 a1 f0 a2");
	assert_int_equal(s->info->threads, 2);
	assert_int_equal(s->info->totals.peak_bytes, 5);
	assert_int_equal(s->events.events[2].alloc_role, s->events.events[0].thread);
}

static void realloc_is_one_step(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 100, A, 100);
	put_move_begin(s, 0, 200, A);
	put_move_end(s, 0, 300, A, B, 150);
	finish(s);
	expect_events(s, "a0 F0 A1");
	assert_int_equal(s->info->totals.peak_bytes, 150);
	assert_int_equal(s->info->totals.peak_blocks, 1);
}

/* Another thread allocates the old address before realloc returns. */
static void reused_address_ends_a_realloc(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	claim_ring(s, 1, 12);
	put_alloc(s, 0, 100, A, 100);
	put_move_begin(s, 0, 10000, A);
	put_alloc(s, 1, 20000, A, 7);
	put_move_end(s, 0, 30000, A, B, 150);
	finish(s);
	expect_events(s, "a0 f0 a1 a2");
	assert_int_equal(s->events.events[1].thread, s->events.events[0].thread);
	assert_int_equal(s->events.events[1].func, HL_FUNC_REALLOC);
	assert_int_equal(s->events.events[2].flags, 0);
	assert_int_equal(s->events.events[3].flags, HL_EVENT_LINKED);
	assert_int_equal(s->events.events[3].realloc_of, 0);
	assert_int_equal(s->info->counters.implicit_frees, 0);
	assert_int_equal(s->info->counters.unknown_frees, 0);
	assert_int_equal(hl_sums_live_bytes(&s->info->totals.sums), 157);
}

static void failed_realloc_changes_nothing(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 100, A, 100);
	put_move_begin(s, 0, 200, A);
	put_record(s, 0, 300, HL_REC_MOVE_FAILED, HL_FUNC_REALLOC, 1, (uint64_t[]){A});
	put_free(s, 0, 400, A);
	finish(s);
	expect_events(s, "a0 f0");
}

static void realloc_to_null_is_a_free(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 100, A, 100);
	put_move_begin(s, 0, 200, A);
	put_move_end(s, 0, 300, A, 0, 0);
	finish(s);
	expect_events(s, "a0 f0");
	assert_int_equal(hl_sums_live_blocks(&s->info->totals.sums), 0);
}

/* Stamps may be slightly wrong: an allocation that precedes the free of its address is deferred. */
static void small_stamp_errors_are_corrected(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	claim_ring(s, 1, 12);
	put_alloc(s, 0, 10000, A, 1);
	put_alloc(s, 1, 20000, A, 2);
	put_free(s, 0, 20100, A);
	put_free(s, 0, 40000, B);
	put_alloc(s, 1, 40100, B, 3);
	finish(s);
	expect_events(s, "a0 f0 a1 a2 f2");
	assert_int_equal(s->info->counters.implicit_frees, 0);
	assert_int_equal(s->info->counters.unknown_frees, 0);
}

/* The missing event has arrived: the deferred one is applied now, not when its time expires. */
static void deferred_event_is_applied_as_soon_as_possible(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	claim_ring(s, 1, 12);
	put_alloc(s, 0, 10000, A, 1);
	put_alloc(s, 1, 20000, A + 64, 2);
	put_free(s, 0, 40000, B);
	put_alloc(s, 1, 40100, B, 3);
	put_alloc(s, 1, 40200, C, 4);
	put_alloc(s, 1, 40300, C + 64, 5);
	finish(s);
	expect_events(s, "a0 a1 a2 f2 a3 a4");
	assert_int_equal(s->info->counters.unknown_frees, 0);
}

static void mismatched_events_are_counted(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 10000, A, 1);
	put_alloc(s, 0, 20000, A, 2); /* the free of the first was not recorded */
	put_free(s, 0, 30000, C);     /* never allocated */
	put_alloc(s, 0, 40000, B, 3);
	finish(s);
	expect_events(s, "a0 i0 a1 a2");
	assert_int_equal(s->info->counters.implicit_frees, 1);
	assert_int_equal(s->info->counters.unknown_frees, 1);
	assert_int_equal(s->events.n_extras, 1);
	assert_int_equal(s->events.extras[0].addr, C);
}

/* Adds a thread that might still deliver a missing event. */
static void add_second_thread(struct fixture *s)
{
	claim_ring(s, 1, 12);
	put_record(s, 1, 100, HL_REC_MARK, 0, 2, (uint64_t[]){HL_MARK_THREAD_NAME | 1 << 8, 'x'});
}

/* Only another thread can deliver a missing event: the events of one thread are in order. */
static void own_thread_cannot_resolve_a_deferred_event(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	add_second_thread(s);
	put_alloc(s, 0, 10000, A, 53); /* its free was not recorded */
	put_alloc(s, 0, 20000, A, 50);
	put_free(s, 0, 20100, A);
	put_alloc(s, 0, 20200, A, 40);
	put_free(s, 0, 20300, A);
	put_alloc(s, 0, 20400, A, 30);
	put_alloc(s, 0, 50000, B, 1);
	put_free(s, 0, 50100, A);
	finish(s);
	expect_events(s, "a0 i0 a1 f1 a2 f2 a3 a4 f3");
	assert_int_equal(s->info->counters.implicit_frees, 1);
	assert_int_equal(hl_sums_live_bytes(&s->info->totals.sums), 1);
}

/* No other thread exists: nothing is deferred, and later events stay later. */
static void single_thread_defers_nothing(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 10000, A, 53); /* its free was not recorded */
	put_alloc(s, 0, 20000, A, 50);
	put_free(s, 0, 20100, A);
	put_alloc(s, 0, 20200, B, 40);
	put_free(s, 0, 20300, B);
	finish(s);
	expect_events(s, "a0 i0 a1 f1 a2 f2");
}

static void free_is_not_matched_to_a_later_allocation(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	add_second_thread(s);
	put_free(s, 0, 10000, A); /* never allocated */
	put_alloc(s, 0, 10010, A, 5);
	put_alloc(s, 0, 10020, B, 6);
	finish(s);
	expect_events(s, "a0 a1");
	assert_int_equal(s->info->counters.unknown_frees, 1);
}

static void small_stamp_errors_are_corrected_in_a_sequence(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	claim_ring(s, 1, 12);
	put_alloc(s, 0, 10000, A, 1);
	put_alloc(s, 1, 20000, A, 2);
	put_free(s, 1, 20050, A);
	put_free(s, 0, 20100, A); /* of the first block, with a stamp that is slightly late */
	finish(s);
	expect_events(s, "a0 f0 a1 f1");
	assert_int_equal(s->events.events[1].thread, s->events.events[0].thread);
	assert_int_equal(s->info->counters.implicit_frees, 0);
	assert_int_equal(s->info->counters.unknown_frees, 0);
}

static void realloc_waits_for_its_deferred_block(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	add_second_thread(s);
	put_alloc(s, 0, 10000, A, 53); /* its free was not recorded */
	put_alloc(s, 0, 20000, A, 50);
	put_move_begin(s, 0, 20010, A);
	put_move_end(s, 0, 20020, A, B, 60);
	put_free(s, 0, 20030, B);
	finish(s);
	expect_events(s, "a0 i0 a1 F1 A2 f2");
	assert_int_equal(s->info->counters.implicit_frees, 1);
	assert_int_equal(hl_sums_live_blocks(&s->info->totals.sums), 0);
}

/* The address of an unrecorded block is allocated again at once. */
static void unrecorded_free_does_not_remove_the_next_block(void **state)
{
	struct fixture *s = *state;

	hl_steering_pause(s->reader, true);
	claim_ring(s, 0, 11);
	put_alloc(s, 0, 10000, B, 1);
	put_free(s, 0, 20000, A);
	put_alloc(s, 0, 20010, A, 2);
	put_free(s, 0, 40000, B);
	finish(s);
	expect_events(s, "a0 a1 f0");
	assert_int_equal(s->info->counters.unknown_frees, 0);
	assert_int_equal(s->info->counters.unrecorded_frees, 1);
	assert_int_equal(s->info->mode_changes, 1);
}

/* A sample and its free have the same weight. Freed blocks are not in the filter. */
static void samples_have_weights(void **state)
{
	struct fixture *s = *state;
	struct hl_region *r = s->reader->region;
	struct hl_event *e;

	assert_int_equal(hl_steering_set_mode(s->reader, HL_MODE_SAMPLE, 4096), 0);
	claim_ring(s, 0, 11);
	put_alloc(s, 0, 5000, C, 77); /* recorded before the program saw the mode */
	hl_sample_filter_add(r, A);
	put_record(s, 0, 10000, HL_REC_SAMPLE, HL_FUNC_MALLOC, 4,
		(uint64_t[]){A, hl_stack_word(100, 1, 0), 4096, 0x400000});
	hl_sample_filter_add(r, B);
	put_move_begin(s, 0, 20000, A);
	put_record(s, 0, 30000, HL_REC_SAMPLE_MOVE, HL_FUNC_REALLOC, 4,
		(uint64_t[]){B, hl_stack_word(50000, 0, 1), A, 4096});
	assert_true(hl_sample_filter_has(r, A));
	finish(s);
	expect_events(s, "a0 a1 F1 A2");
	e = s->events.events;
	assert_true(e[0].blocks == 1 && e[0].bytes == 77);
	assert_in_range(e[1].blocks, 41, 42); /* 1 / (1 - exp(-100 / 4096)) = 41.46 */
	assert_in_range(e[1].bytes, 4146, 4147);
	assert_true(e[2].blocks == e[1].blocks && e[2].bytes == e[1].bytes);
	assert_in_range(e[3].blocks, 1, 2);
	assert_in_range(e[3].bytes, 50000, 50001);
	assert_false(hl_sample_filter_has(r, A));
	assert_true(hl_sample_filter_has(r, B));
	assert_true(hl_sample_filter_has(r, C));
	assert_int_equal(atomic_load(&r->control) & HL_CONTROL_ALL_FREES, 0);
}

/* Random rounding does not change the sums. */
static void weights_are_unbiased(void **state)
{
	const double w = 41.4620; /* of 100 bytes at a rate of 4096 */
	double blocks = 0, bytes = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		struct hl_sample_weight weight = hl_sample_weigh(100, 4096, i, 7);

		blocks += (double)weight.blocks;
		bytes += (double)weight.bytes;
	}
	assert_true(blocks > 100000 * (w - 0.01) && blocks < 100000 * (w + 0.01));
	assert_true(bytes > 100000 * (100 * w - 0.1) && bytes < 100000 * (100 * w + 0.1));
	assert_int_equal(hl_sample_weigh(100, 0, 3, 7).blocks, 1);
	assert_int_equal(hl_sample_weigh(100, 0, 3, 7).bytes, 100);
}

/* The shared prefix counts from the outermost frame. Parts precede their event. HL_STACK_FIRST_PART
 * discards older parts. */
static void stacks_are_sent_in_parts(void **state)
{
	struct fixture *s = *state;
	struct hl_node node;
	uint32_t n;

	claim_ring(s, 0, 11);
	put_record(s, 0, 100, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST_PART, 1, 0), 0x999});
	put_record(s, 0, 200, HL_REC_STACK, 0, 3,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST_PART, 2, 0), 0x400, 0x300});
	put_record(s, 0, 300, HL_REC_ALLOC, 0, 4,
		(uint64_t[]){A, hl_stack_word(1, 2, 0), 0x200, 0x100});
	put_record(s, 0, 400, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 3), 0x500});
	finish(s);
	assert_int_equal(hl_reader_n_nodes(s->trace, &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(hl_reader_node(s->trace, s->events.events[1].node, &node), 0);
	assert_int_equal(node.offset, 0x500);
	assert_int_equal(hl_reader_node(s->trace, node.parent, &node), 0);
	assert_int_equal(node.offset, 0x300);
	assert_int_equal(hl_reader_node(s->trace, s->events.events[0].node, &node), 0);
	assert_int_equal(node.offset, 0x400);
	assert_int_equal(hl_reader_node(s->trace, node.parent, &node), 0);
	assert_int_equal(node.offset, 0x300);
}

static void expect_stack(struct fixture *s, size_t event, const uint64_t *innermost_first, size_t n)
{
	uint32_t at = s->events.events[event].node;

	for (size_t i = 0; i < n; i++) {
		struct hl_node node;

		assert_int_equal(hl_reader_node(s->trace, at, &node), 0);
		assert_int_equal(node.offset, innermost_first[i]);
		at = node.parent;
	}
	assert_int_equal(at, HL_NODE_NONE);
}

/* An id names the stack that it was last assigned to, and does not change the ring's last stack. A
 * hostile program may send any id. */
static void stack_ids_name_stacks(void **state)
{
	const uint64_t unknown = 4711, wrong = HL_RING_STACK_IDS;
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_record(s, 0, 100, HL_REC_ALLOC_STACK_ID, 0, 5,
		(uint64_t[]){A, hl_stack_word(1, 2, 0), 700, 0x200, 0x100});
	put_record(s, 0, 200, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 1), 0x300});
	put_record(s, 0, 300, HL_REC_ALLOC, 0, 2, (uint64_t[]){C, hl_stack_id_word(1, 700)});
	put_record(s, 0, 400, HL_REC_ALLOC, 0, 2, (uint64_t[]){A + 64, hl_stack_word(1, 0, 2)});
	put_record(s, 0, 500, HL_REC_ALLOC_STACK_ID, 0, 4,
		(uint64_t[]){B + 64, hl_stack_word(1, 1, 1), 700, 0x400});
	put_record(s, 0, 600, HL_REC_ALLOC, 0, 2, (uint64_t[]){C + 64, hl_stack_id_word(1, 700)});
	put_record(
		s, 0, 700, HL_REC_ALLOC, 0, 2, (uint64_t[]){A + 128, hl_stack_id_word(1, unknown)});
	put_record(s, 0, 800, HL_REC_ALLOC_STACK_ID, 0, 5,
		(uint64_t[]){B + 128, hl_stack_word(HL_SIZE_BIG, 1, 0), wrong, 1u << 30, 0x500});
	put_record(s, 0, 900, HL_REC_ALLOC, 0, 2, (uint64_t[]){C + 128, hl_stack_id_word(1, 700)});
	finish(s);
	expect_events(s, "a0 a1 a2 a3 a4 a5 a6 a7 a8");
	expect_stack(s, 0, (uint64_t[]){0x200, 0x100}, 2);
	expect_stack(s, 1, (uint64_t[]){0x300, 0x100}, 2);
	expect_stack(s, 2, (uint64_t[]){0x200, 0x100}, 2);
	expect_stack(s, 3, (uint64_t[]){0x300, 0x100}, 2);
	expect_stack(s, 4, (uint64_t[]){0x400, 0x100}, 2);
	expect_stack(s, 5, (uint64_t[]){0x400, 0x100}, 2);
	expect_stack(s, 6, (uint64_t[]){HL_OFFSET_REMOVED_FRAMES}, 1);
	expect_stack(s, 7, (uint64_t[]){0x500}, 1);
	assert_int_equal(s->events.events[7].size, 1u << 30);
	expect_stack(s, 8, (uint64_t[]){0x400, 0x100}, 2);
}

/* The parts of an event that siglongjmp interrupted do not belong to the next event. */
static void parts_without_an_event_are_discarded(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_record(s, 0, 100, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST_PART, 1, 0), 0x999});
	put_record(s, 0, 200, HL_REC_STACK, 0, 1,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST_PART, 0, 0)});
	put_record(s, 0, 300, HL_REC_ALLOC, 0, 4,
		(uint64_t[]){A, hl_stack_word(1, 2, 0), 0x200, 0x100});
	finish(s);
	expect_stack(s, 0, (uint64_t[]){0x200, 0x100}, 2);
}

/* A signal handler writes in one shared ring while its thread is writing a stack in another. Parts
 * that a thread never completed there do not belong to the next event. */
static void shared_rings_have_stacks_of_their_own(void **state)
{
	const uint32_t one = HL_RING_COUNT - HL_SHARED_RINGS, two = one + 1;
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	atomic_store(&s->reader->region->shared_used, 1);
	put_alloc(s, 0, 10000, A, 1);
	put_record(s, one, 20000, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	put_record(s, one, 20100, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST_PART, 1, 0), 0x300});
	put_record(s, two, 20200, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	put_record(
		s, two, 20300, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 0), 0x100});
	put_record(s, one, 20400, HL_REC_ALLOC, 0, 4,
		(uint64_t[]){C, hl_stack_word(1, 2, 0), 0x200, 0x100});
	put_record(s, two, 20500, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST_PART, 1, 0), 0x999});
	put_record(s, two, 20600, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	put_record(s, two, 20700, HL_REC_ALLOC, 0, 3,
		(uint64_t[]){B + 64, hl_stack_word(1, 1, 0), 0x100});
	finish(s);
	expect_events(s, "a0 a1 a2 a3");
	expect_stack(s, 1, (uint64_t[]){0x100}, 1);
	expect_stack(s, 2, (uint64_t[]){0x300, 0x200, 0x100}, 3);
	expect_stack(s, 3, (uint64_t[]){0x100}, 1);
	assert_int_equal(s->info->threads, 1);
}

/* An owned ring stays with its owner, whatever SWITCH records it has; and it survives the end of
 * the thread that such a record names. */
static void owned_ring_keeps_its_owner(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	claim_ring(s, 1, 12);
	put_alloc(s, 0, 10000, A, 1);
	put_record(s, 1, 20000, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	put_alloc(s, 1, 20100, B, 1);
	put_record(s, 0, 20200, HL_REC_SWITCH, 0, 1, (uint64_t[]){12});
	put_alloc(s, 0, 20300, C, 1);
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	hl_region_ring(s->reader->region, 0)->owner_mutex.__data.__lock = 0x40000000; /* died */
	hl_region_scan(s->reader, hl_mono_ns());
	put_alloc(s, 1, 20400, B + 64, 1);
	finish(s);
	expect_events(s, "a0 a1 a2 a3");
	assert_int_equal(s->info->threads, 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s->events.events[i].thread, i & 1);
}

/* The second thread of a fork child is read before the first record of its first thread. The child
 * has the pid of its first thread and begins with it. */
static void fork_child_has_the_pid_of_its_first_thread(void **state)
{
	const uint64_t later = UINT64_C(500000000); /* after the end of the first scan */
	struct fixture *s = *state;

	claim_ring(s, 0, 12);
	claim_ring(s, 1, 11);
	for (uint32_t i = 0; i < 2; i++)
		hl_region_ring(s->reader->region, i)->serial = 1;
	put_alloc(s, 0, later + 20000, B, 1);
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->targets.len, 0);
	put_record(s, 1, later, HL_REC_PROCESS, 0, 1, (uint64_t[]){11});
	put_alloc(s, 1, later + 10000, A, 1);
	while (hl_ring_now(s->reader->region) < s->t0 + later + 30000)
		usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->targets.len, 1);
	assert_int_equal(s->reader->targets.data[0]->pid, 11);
	finish(s);
	expect_events(s, "a0 a1");
	assert_int_equal(s->events.events[0].addr, A);
	assert_true(s->events.events[0].time_ns > 0);
}

static void put_module(struct fixture *s, uint64_t at, uint64_t start, const char *name)
{
	uint64_t words[5] = {start, start + 0x1000, start, 5u << 16};

	memcpy(words + 4, name, 5);
	put_record(s, 0, at, HL_REC_MODULE, 0, 5, words);
}

/* Another library at the same addresses is another module; the same library elsewhere is the same
 * module. */
static void modules_follow_their_addresses(void **state)
{
	static const struct {
		uint64_t start;
		const char *name;
	} loads[] = {{0x100000, "/a.so"}, {0x100000, "/b.so"}, {0x900000, "/a.so"}};
	static const uint32_t number[] = {0, 1, 0};
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	for (uint64_t i = 0; i < 3; i++) {
		put_module(s, 1000 * i + 1, loads[i].start, loads[i].name);
		put_record(s, 0, 1000 * i + 2, HL_REC_ALLOC, 0, 3,
			(uint64_t[]){A + i * 64, hl_stack_word(1, 1, 0), loads[i].start + 0x10});
	}
	finish(s);
	for (int i = 0; i < 3; i++) {
		struct hl_node node;

		assert_int_equal(hl_reader_node(s->trace, s->events.events[i].node, &node), 0);
		assert_int_equal(node.module, number[i]);
		assert_int_equal(node.offset, 0x10);
	}
	assert_int_equal(s->events.events[0].node, s->events.events[2].node);
}

/* A stack continues while modules are loaded: its shared frames keep their nodes, also frames that
 * were never sent. */
static void stacks_survive_new_modules(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_module(s, 1000, 0x100000, "/a.so");
	put_record(s, 0, 1100, HL_REC_ALLOC, 0, 5,
		(uint64_t[]){A, hl_stack_word(1, 3, 0), 0x100030, 0x100020, 0x100010});
	put_module(s, 1200, 0x200000, "/b.so");
	put_record(
		s, 0, 1300, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 2), 0x200040});
	put_record(s, 0, 1400, HL_REC_ALLOC, 0, 5,
		(uint64_t[]){B + 64, hl_stack_word(1, 3, 0), 0x200040, 0x100020, 0x100010});
	put_record(s, 0, 1500, HL_REC_ALLOC, 0, 2, (uint64_t[]){B + 128, hl_stack_word(1, 0, 2)});
	put_record(
		s, 0, 1600, HL_REC_ALLOC, 0, 3, (uint64_t[]){C, hl_stack_word(1, 1, 6), 0x100050});
	put_module(s, 1700, 0x300000, "/c.so");
	put_record(s, 0, 1800, HL_REC_ALLOC, 0, 3,
		(uint64_t[]){C + 64, hl_stack_word(1, 1, 6), 0x100050});
	finish(s);
	expect_stack(s, 0, (uint64_t[]){0x30, 0x20, 0x10}, 3);
	expect_stack(s, 1, (uint64_t[]){0x40, 0x20, 0x10}, 3);
	expect_stack(s, 3, (uint64_t[]){0x20, 0x10}, 2);
	expect_stack(s, 4, (uint64_t[]){0x50, HL_OFFSET_REMOVED_FRAMES, 0x20, 0x10}, 4);
	assert_int_equal(s->events.events[1].node, s->events.events[2].node);
	assert_int_equal(s->events.events[4].node, s->events.events[5].node);
}

/* A program that overwrites its ring damages only its own trace: earlier records are kept. */
static void corrupt_ring_is_cut_off(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 100, A, 1);
	put_record(s, 0, 200, 30, 0, 1, (uint64_t[]){UINT64_MAX});
	put_alloc(s, 0, 300, B, 1);
	finish(s);
	expect_events(s, "a0");
	assert_true(s->info->counters.dropped_events > 0);
}

static void corrupt_position_is_not_followed(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 100, A, 1);
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	hl_region_ring(s->reader->region, 0)->head = UINT64_C(0x7fffffffffffff08);
	finish(s);
	expect_events(s, "a0");
	assert_true(s->info->counters.dropped_events > 0);
}

/* The live table uses such addresses for tombstones: events with them are dropped. */
static void tombstone_addresses_are_dropped(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 100, A, 1);
	put_free(s, 0, 200, ~A);
	put_free(s, 0, 300, A);
	put_free(s, 0, 400, ~A);
	put_alloc(s, 0, 500, ~A, 1);
	put_alloc(s, 0, 600, 0, 1);
	put_move_begin(s, 0, 700, ~A);
	put_move_end(s, 0, 800, ~A, B, 150);
	put_alloc(s, 0, 900, A, 2);
	finish(s);
	expect_events(s, "a0 f0 a1 a2");
	assert_int_equal(s->info->counters.dropped_events, 5);
	assert_int_equal(s->info->totals.sums.alloc_bytes - s->info->totals.sums.free_bytes, 152);
}

/* Nothing may be processed past a ring that is about to commit an older stamp. */
static void waits_for_a_busy_ring(void **state)
{
	struct fixture *s = *state;
	struct hl_ring *r;

	claim_ring(s, 0, 11);
	claim_ring(s, 1, 12);
	r = hl_region_ring(s->reader->region, 0);
	r->head |= 1; /* stamped at 1000, not yet committed */
	put_alloc(s, 1, 5000, A, 1);
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	hl_region_scan(s->reader, hl_mono_ns());
	r->head &= ~UINT64_C(1);
	put_alloc(s, 0, 1000, B, 2);
	finish(s);
	assert_int_equal(s->events.events[0].addr, B);
	assert_int_equal(s->info->counters.late_events, 0);
}

/* No allocator returns 0 or 1. Such events are dropped, and the rest of the trace is complete. */
static void impossible_addresses_are_dropped(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	for (uint64_t addr = 0; addr < 2; addr++) {
		put_alloc(s, 0, 1000, addr, 8);
		put_alloc(s, 0, 1000, addr, 8);
		put_free(s, 0, 1000, addr);
		put_move_begin(s, 0, 1000, addr);
		put_move_end(s, 0, 1000, addr, addr, 8);
	}
	put_alloc(s, 0, 2000, A, 8);
	put_move_end(s, 0, 3000, 1, B, 16);
	put_move_begin(s, 0, 4000, A);
	put_move_end(s, 0, 4000, A, 1, 0);
	put_free(s, 0, 5000, B);
	finish(s);
	assert_int_equal(s->info->counters.dropped_events, 10);
	assert_int_equal(s->info->counters.unknown_frees, 0);
	assert_int_equal(s->events.n_events, 4);
	assert_int_equal(s->events.events[2].op, HL_OP_FREE);
	assert_int_equal(s->events.events[2].addr, A);
}

static void impossible_cost_is_clamped(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	put_alloc(s, 0, 1000, A, 8);
	put_record(s, 0, 2000, HL_REC_EXIT, 0, 7, (uint64_t[]){0, 0, 0, 0, 0, 0, UINT64_MAX});
	finish(s);
	assert_int_equal(s->info->cost.hook_ns, INT64_MAX);
}

/* Frees without blocks, all with one stamp: the number of deferred events is limited. */
static void deferred_events_are_bounded(void **state)
{
	struct fixture *s = *state;

	claim_ring(s, 0, 11);
	add_second_thread(s);
	for (uint64_t i = 0; i < 20000; i++) {
		put_free(s, 0, 1000, A + 16 * i);
		put_move_begin(s, 0, 1000, A + 16 * i);
		if (i % 1000 == 0)
			hl_region_scan(s->reader, hl_mono_ns());
	}
	usleep(2000); /* everything is before the next scan */
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->targets.len, 1);
	assert_in_range(s->reader->targets.data[0]->match.deferred.len, 1, 4096);
	assert_in_range(s->reader->targets.data[0]->match.moves.len, 1, 4096);
	finish(s);
	assert_int_equal(s->info->counters.unknown_frees, 20000);
}

/* A program announces as many processes as it can: some get a trace, the events of the others are
 * dropped. */
static void processes_are_bounded(void **state)
{
	struct fixture *s = *state;
	uint32_t shared = HL_RING_COUNT - 1;

	s->settings.output.pattern = "%n.hlt";
	s->settings.output.own_names = true;
	s->settings.max_processes = 16;
	claim_ring(s, 0, 11);
	put_alloc(s, 0, 1000, A, 8);
	hl_region_scan(s->reader, hl_mono_ns());
	atomic_store(&s->reader->region->shared_used, 1);
	for (uint64_t i = 0; i < 120; i++) {
		put_record(
			s, shared, 2000, HL_REC_SWITCH, 0, 1, (uint64_t[]){(i + 1) << 32 | 999999});
		put_alloc(s, shared, 2000, B, 8);
	}
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->targets.len, 16);
	assert_int_equal(hl_target_counters(s->reader->targets.data[0]).dropped_events, 105);
	while (s->reader->targets.len)
		hl_region_end_process(s->reader, s->reader->targets.data[0],
			&(struct hl_end){.kind = HL_END_LOST});
	hl_write_queue_stop(&s->queue);
	for (int i = 1; i <= 16; i++) {
		snprintf(s->path, sizeof(s->path), "%s/%d.hlt", s->dir, i);
		assert_int_equal(unlink(s->path), 0);
	}
	snprintf(s->path, sizeof(s->path), "%s/1.hlt.d/session", s->dir);
	assert_int_equal(unlink(s->path), 0);
	snprintf(s->path, sizeof(s->path), "%s/1.hlt.d", s->dir);
	assert_int_equal(rmdir(s->path), 0);
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void failed_open_leaves_no_descriptor(void **state)
{
	struct fixture *s = *state;
	struct hl_region_reader *r;
	int fds[2], before;

	assert_int_equal(pipe(fds), 0); /* cannot be mapped */
	before = count_fds();
	assert_int_equal(
		hl_region_open(&r, fds[0], (uint64_t)getpid(), true, &s->settings, &s->queue),
		-EACCES);
	assert_int_equal(count_fds(), before - 1);
	close(fds[1]);
	hl_write_queue_stop(&s->queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		TEST(merges_rings_by_stamp),
		TEST(realloc_is_one_step),
		TEST(reused_address_ends_a_realloc),
		TEST(failed_realloc_changes_nothing),
		TEST(realloc_to_null_is_a_free),
		TEST(small_stamp_errors_are_corrected),
		TEST(deferred_event_is_applied_as_soon_as_possible),
		TEST(mismatched_events_are_counted),
		TEST(own_thread_cannot_resolve_a_deferred_event),
		TEST(single_thread_defers_nothing),
		TEST(free_is_not_matched_to_a_later_allocation),
		TEST(small_stamp_errors_are_corrected_in_a_sequence),
		TEST(realloc_waits_for_its_deferred_block),
		TEST(unrecorded_free_does_not_remove_the_next_block),
		TEST(samples_have_weights),
		TEST(failed_open_leaves_no_descriptor),
		cmocka_unit_test(weights_are_unbiased), /* needs no fixture */
		TEST(stacks_are_sent_in_parts),
		TEST(stack_ids_name_stacks),
		TEST(parts_without_an_event_are_discarded),
		TEST(shared_rings_have_stacks_of_their_own),
		TEST(owned_ring_keeps_its_owner),
		TEST(fork_child_has_the_pid_of_its_first_thread),
		TEST(modules_follow_their_addresses),
		TEST(stacks_survive_new_modules),
		TEST(corrupt_ring_is_cut_off),
		TEST(corrupt_position_is_not_followed),
		TEST(tombstone_addresses_are_dropped),
		TEST(waits_for_a_busy_ring),
		TEST(impossible_addresses_are_dropped),
		TEST(impossible_cost_is_clamped),
		TEST(deferred_events_are_bounded),
		TEST(processes_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
