/*
 * books_test.c - records with chosen stamps go through a region's rings into a trace, which is read
 * back: order over rings, reallocs and what comes between them, frees that do not fit, hostile
 * rings.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/region.h"
#include "collect/steer.h"
#include "collect/weigh.h"
#include "ring/filter.h"
#include "ring/clock.h"
#include "ring/record.h"
#include "trace/reader.h"

#define A UINT64_C(0x10000)
#define B UINT64_C(0x20000)
#define C UINT64_C(0x30000)

struct stage {
	struct hl_collect_settings settings;
	struct hl_queue queue;
	struct hl_region_reader *reader;
	uint64_t t0;
	char dir[64], path[256];
	struct hl_reader *trace;
	const struct hl_trace_info *info;
	struct hl_chunk_events events;
};

static int setup(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));

	strcpy(s->dir, "/tmp/heaplapse-books-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	s->settings.memory_limit = SIZE_MAX;
	s->settings.output.pattern = "trace.hlt";
	s->settings.output.dir_fd = open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->queue.settings = &s->settings.output;
	assert_int_equal(hl_queue_start(&s->queue), 0);
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
	struct stage *s = *state;

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

static void own(struct stage *s, uint32_t ring, uint32_t tid)
{
	struct hl_ring *r = hl_region_ring(s->reader->region, ring);

	r->tid = tid;
	atomic_fetch_add(&r->claim, 1);
	if (ring >= s->reader->region->high)
		s->reader->region->high = ring + 1;
	atomic_store(&r->state, HL_RING_OWNED);
}

/* A record at t0 + at ticks. */
static void put(struct stage *s, uint32_t ring, uint64_t at, uint32_t type, uint32_t func, int n,
	const uint64_t *words)
{
	struct hl_ring *r = hl_region_ring(s->reader->region, ring);
	uint64_t *data = hl_region_data(s->reader->region, ring), pos = r->w / 8;

	data[pos++ % (hl_ring_bytes(ring) / 8)] = hl_first_word(s->t0 + at, type, func);
	for (int i = 0; i < n; i++)
		data[pos++ % (hl_ring_bytes(ring) / 8)] = words[i];
	__atomic_store_n(&r->w, pos * 8, __ATOMIC_RELEASE);
}

static void alloc(struct stage *s, uint32_t ring, uint64_t at, uint64_t addr, uint64_t size)
{
	put(s, ring, at, HL_REC_ALLOC, HL_FUNC_MALLOC, 3,
		(uint64_t[]){addr, hl_stack_word(size, 1, 0), 0x400000 + addr});
}

static void release(struct stage *s, uint32_t ring, uint64_t at, uint64_t addr)
{
	put(s, ring, at, HL_REC_FREE, HL_FUNC_FREE, 1, (uint64_t[]){addr});
}

static void move_begin(struct stage *s, uint32_t ring, uint64_t at, uint64_t old)
{
	put(s, ring, at, HL_REC_MOVE_BEGIN, HL_FUNC_REALLOC, 1, (uint64_t[]){old});
}

static void move_end(
	struct stage *s, uint32_t ring, uint64_t at, uint64_t old, uint64_t addr, uint64_t size)
{
	put(s, ring, at, HL_REC_MOVE_END, HL_FUNC_REALLOC, 3,
		(uint64_t[]){addr, hl_stack_word(size, 0, 0), old});
}

/* Drains everything, ends the process, and opens its trace. */
static void finish(struct stage *s)
{
	struct hl_reader_refusal why;
	struct hl_end end = {.kind = HL_END_EXIT};

	usleep(1000); /* all stamps lie before the next scan's */
	for (int i = 0; i < 3; i++)
		hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->procs.len, 1);
	hl_region_end_process(s->reader, s->reader->procs.data[0], &end);
	hl_queue_stop(&s->queue);
	snprintf(s->path, sizeof(s->path), "%s/trace.hlt", s->dir);
	assert_int_equal(hl_reader_open(&s->trace, s->path, &why), 0);
	assert_int_equal(hl_reader_info(s->trace, &s->info), 0);
	if (hl_reader_n_chunks(s->trace))
		assert_int_equal(hl_reader_decode(s->trace, 0, &s->events), 0);
}

/* "a1 f1 A2": allocations and frees by ordinal, capitals when MOVED. */
static void expect(struct stage *s, const char *story)
{
	char got[256] = "", *at = got;

	for (size_t i = 0; i < s->events.n_events; i++) {
		const struct hl_event *e = &s->events.events[i];
		char c = e->op == HL_OP_ALLOC ? 'a' : e->func == HL_FUNC_IMPLICIT ? 'i' : 'f';

		if (e->flags & HL_EVENT_MOVED)
			c = (char)(c - 'a' + 'A');
		at += sprintf(at, "%s%c%d", i ? " " : "", c, (int)e->ordinal);
	}
	assert_string_equal(got, story);
}

static void merges_rings_by_stamp(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	own(s, 1, 12);
	alloc(s, 1, 20000, B, 2);
	release(s, 1, 30000, A);
	alloc(s, 0, 10000, A, 1);
	alloc(s, 0, 40000, A, 3);
	finish(s);
	expect(s, "a0 a1 f0 a2");
	assert_int_equal(s->info->threads, 2);
	assert_int_equal(s->info->totals.peak_bytes, 5);
	assert_int_equal(s->events.events[2].birth_thread, s->events.events[0].thread);
}

static void a_realloc_is_one_step(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 100, A, 100);
	move_begin(s, 0, 200, A);
	move_end(s, 0, 300, A, B, 150);
	finish(s);
	expect(s, "a0 F0 A1");
	assert_int_equal(s->info->totals.peak_bytes, 150);
	assert_int_equal(s->info->totals.peak_blocks, 1);
}

/* The old address goes to another thread before realloc is back. */
static void limbo_ends_where_the_address_is_reused(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	own(s, 1, 12);
	alloc(s, 0, 100, A, 100);
	move_begin(s, 0, 10000, A);
	alloc(s, 1, 20000, A, 7);
	move_end(s, 0, 30000, A, B, 150);
	finish(s);
	expect(s, "a0 f0 a1 a2");
	assert_int_equal(s->events.events[1].thread, s->events.events[0].thread);
	assert_int_equal(s->events.events[1].func, HL_FUNC_REALLOC);
	assert_int_equal(s->events.events[2].flags, 0);
	assert_int_equal(s->events.events[3].flags, HL_EVENT_LINKED);
	assert_int_equal(s->events.events[3].made_of, 0);
	assert_int_equal(s->info->counters.implicit_frees, 0);
	assert_int_equal(s->info->counters.unknown_frees, 0);
	assert_int_equal(hl_sums_live_bytes(&s->info->totals.sums), 157);
}

static void a_failed_realloc_changes_nothing(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 100, A, 100);
	move_begin(s, 0, 200, A);
	put(s, 0, 300, HL_REC_MOVE_FAILED, HL_FUNC_REALLOC, 1, (uint64_t[]){A});
	release(s, 0, 400, A);
	finish(s);
	expect(s, "a0 f0");
}

static void realloc_to_nothing_is_a_free(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 100, A, 100);
	move_begin(s, 0, 200, A);
	move_end(s, 0, 300, A, 0, 0);
	finish(s);
	expect(s, "a0 f0");
	assert_int_equal(hl_sums_live_blocks(&s->info->totals.sums), 0);
}

/* Stamps may be wrong by a little: an allocation that comes before the free of its address waits.
 */
static void small_disorder_is_put_right(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	own(s, 1, 12);
	alloc(s, 0, 10000, A, 1);
	alloc(s, 1, 20000, A, 2);
	release(s, 0, 20100, A);
	release(s, 0, 40000, B);
	alloc(s, 1, 40100, B, 3);
	finish(s);
	expect(s, "a0 f0 a1 a2 f2");
	assert_int_equal(s->info->counters.implicit_frees, 0);
	assert_int_equal(s->info->counters.unknown_frees, 0);
}

/* What it waited for has come: its turn is now, not when the waiting is over. */
static void who_waits_is_next(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	own(s, 1, 12);
	alloc(s, 0, 10000, A, 1);
	alloc(s, 1, 20000, A + 64, 2);
	release(s, 0, 40000, B);
	alloc(s, 1, 40100, B, 3);
	alloc(s, 1, 40200, C, 4);
	alloc(s, 1, 40300, C + 64, 5);
	finish(s);
	expect(s, "a0 a1 a2 f2 a3 a4");
	assert_int_equal(s->info->counters.unknown_frees, 0);
}

static void what_does_not_fit_is_counted_as_that(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 10000, A, 1);
	alloc(s, 0, 20000, A, 2); /* nobody freed the first */
	release(s, 0, 30000, C);  /* nobody allocated this */
	alloc(s, 0, 40000, B, 3);
	finish(s);
	expect(s, "a0 i0 a1 a2");
	assert_int_equal(s->info->counters.implicit_frees, 1);
	assert_int_equal(s->info->counters.unknown_frees, 1);
	assert_int_equal(s->events.n_extras, 1);
	assert_int_equal(s->events.extras[0].addr, C);
}

/* Somebody who might still say what is missing. */
static void meet_another(struct stage *s)
{
	own(s, 1, 12);
	put(s, 1, 100, HL_REC_MARK, 0, 2, (uint64_t[]){HL_MARK_THREAD_NAME | 1 << 8, 'x'});
}

/* Only another thread may still say what was missing: a thread's own words are in order. */
static void a_free_is_not_older_than_its_block(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	meet_another(s);
	alloc(s, 0, 10000, A, 53); /* its free was not recorded */
	alloc(s, 0, 20000, A, 50);
	release(s, 0, 20100, A);
	alloc(s, 0, 20200, A, 40);
	release(s, 0, 20300, A);
	alloc(s, 0, 20400, A, 30);
	alloc(s, 0, 50000, B, 1);
	release(s, 0, 50100, A);
	finish(s);
	expect(s, "a0 i0 a1 f1 a2 f2 a3 a4 f3");
	assert_int_equal(s->info->counters.implicit_frees, 1);
	assert_int_equal(hl_sums_live_bytes(&s->info->totals.sums), 1);
}

/* There is nobody who might: it does not wait, and what comes after it stays after it. */
static void a_thread_alone_waits_for_nobody(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 10000, A, 53); /* its free was not recorded */
	alloc(s, 0, 20000, A, 50);
	release(s, 0, 20100, A);
	alloc(s, 0, 20200, B, 40);
	release(s, 0, 20300, B);
	finish(s);
	expect(s, "a0 i0 a1 f1 a2 f2");
}

static void a_block_is_not_freed_before_it_came(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	meet_another(s);
	release(s, 0, 10000, A); /* nobody allocated this */
	alloc(s, 0, 10010, A, 5);
	alloc(s, 0, 10020, B, 6);
	finish(s);
	expect(s, "a0 a1");
	assert_int_equal(s->info->counters.unknown_frees, 1);
}

static void small_disorder_is_put_right_behind_more(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	own(s, 1, 12);
	alloc(s, 0, 10000, A, 1);
	alloc(s, 1, 20000, A, 2);
	release(s, 1, 20050, A);
	release(s, 0, 20100, A); /* of the first, and stamped a little late */
	finish(s);
	expect(s, "a0 f0 a1 f1");
	assert_int_equal(s->events.events[1].thread, s->events.events[0].thread);
	assert_int_equal(s->info->counters.implicit_frees, 0);
	assert_int_equal(s->info->counters.unknown_frees, 0);
}

static void a_realloc_waits_behind_its_block(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	meet_another(s);
	alloc(s, 0, 10000, A, 53); /* its free was not recorded */
	alloc(s, 0, 20000, A, 50);
	move_begin(s, 0, 20010, A);
	move_end(s, 0, 20020, A, B, 60);
	release(s, 0, 20030, B);
	finish(s);
	expect(s, "a0 i0 a1 F1 A2 f2");
	assert_int_equal(s->info->counters.implicit_frees, 1);
	assert_int_equal(hl_sums_live_blocks(&s->info->totals.sums), 0);
}

/* The address of a block that nobody told us of goes to the next at once. */
static void an_unrecorded_free_takes_nothing_with_it(void **state)
{
	struct stage *s = *state;

	hl_steer_pause(s->reader, true);
	own(s, 0, 11);
	alloc(s, 0, 10000, B, 1);
	release(s, 0, 20000, A);
	alloc(s, 0, 20010, A, 2);
	release(s, 0, 40000, B);
	finish(s);
	expect(s, "a0 a1 f0");
	assert_int_equal(s->info->counters.unknown_frees, 0);
	assert_int_equal(s->info->counters.unrecorded_frees, 1);
	assert_int_equal(s->info->mode_changes, 1);
}

/* A sample and its free stand for the same; what is free is not in the filter. */
static void samples_stand_for_others(void **state)
{
	struct stage *s = *state;
	struct hl_region *r = s->reader->region;
	struct hl_event *e;

	assert_int_equal(hl_steer_set_mode(s->reader, HL_MODE_SAMPLE, 4096), 0);
	own(s, 0, 11);
	alloc(s, 0, 5000, C, 77); /* from before the program knew */
	hl_filter_add(r, A);
	put(s, 0, 10000, HL_REC_SAMPLE, HL_FUNC_MALLOC, 4,
		(uint64_t[]){A, hl_stack_word(100, 1, 0), 4096, 0x400000});
	hl_filter_add(r, B);
	move_begin(s, 0, 20000, A);
	put(s, 0, 30000, HL_REC_SAMPLE_MOVE, HL_FUNC_REALLOC, 4,
		(uint64_t[]){B, hl_stack_word(50000, 0, 1), A, 4096});
	assert_true(hl_filter_has(r, A));
	finish(s);
	expect(s, "a0 a1 F1 A2");
	e = s->events.events;
	assert_true(e[0].blocks == 1 && e[0].bytes == 77);
	assert_in_range(e[1].blocks, 41, 42); /* 1 / (1 - exp(-100 / 4096)) = 41.46 */
	assert_in_range(e[1].bytes, 4146, 4147);
	assert_true(e[2].blocks == e[1].blocks && e[2].bytes == e[1].bytes);
	assert_in_range(e[3].blocks, 1, 2);
	assert_in_range(e[3].bytes, 50000, 50001);
	assert_false(hl_filter_has(r, A));
	assert_true(hl_filter_has(r, B));
	assert_true(hl_filter_has(r, C));
	assert_int_equal(atomic_load(&r->steer) & HL_STEER_ALL_FREES, 0);
}

/* Rounded by chance, sums stay what they are. */
static void weights_are_unbiased(void **state)
{
	const double w = 41.4620; /* of 100 bytes, one in 4096 */
	double blocks = 0, bytes = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		struct hl_weight weight = hl_weigh(100, 4096, i, 7);

		blocks += (double)weight.blocks;
		bytes += (double)weight.bytes;
	}
	assert_true(blocks > 100000 * (w - 0.01) && blocks < 100000 * (w + 0.01));
	assert_true(bytes > 100000 * (100 * w - 0.1) && bytes < 100000 * (100 * w + 0.1));
	assert_int_equal(hl_weigh(100, 0, 3, 7).blocks, 1);
	assert_int_equal(hl_weigh(100, 0, 3, 7).bytes, 100);
}

/* kept counts from the outermost; parts come before their event, FIRST throws older parts away. */
static void stacks_come_in_parts(void **state)
{
	struct stage *s = *state;
	struct hl_node node;
	uint32_t n;

	own(s, 0, 11);
	put(s, 0, 100, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST, 1, 0), 0x999});
	put(s, 0, 200, HL_REC_STACK, 0, 3,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST, 2, 0), 0x400, 0x300});
	put(s, 0, 300, HL_REC_ALLOC, 0, 4, (uint64_t[]){A, hl_stack_word(1, 2, 0), 0x200, 0x100});
	put(s, 0, 400, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 3), 0x500});
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

static void expect_stack(struct stage *s, size_t event, const uint64_t *innermost_first, size_t n)
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

/* A number stands for what it was given to last, and the ring's last stack is none of its business.
 * A hostile program may say any. */
static void numbers_stand_for_stacks(void **state)
{
	const uint64_t unknown = 4711, wrong = HL_WAY_NUMBERS;
	struct stage *s = *state;

	own(s, 0, 11);
	put(s, 0, 100, HL_REC_ALLOC_WAY, 0, 5,
		(uint64_t[]){A, hl_stack_word(1, 2, 0), 700, 0x200, 0x100});
	put(s, 0, 200, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 1), 0x300});
	put(s, 0, 300, HL_REC_ALLOC, 0, 2, (uint64_t[]){C, hl_way_word(1, 700)});
	put(s, 0, 400, HL_REC_ALLOC, 0, 2, (uint64_t[]){A + 64, hl_stack_word(1, 0, 2)});
	put(s, 0, 500, HL_REC_ALLOC_WAY, 0, 4,
		(uint64_t[]){B + 64, hl_stack_word(1, 1, 1), 700, 0x400});
	put(s, 0, 600, HL_REC_ALLOC, 0, 2, (uint64_t[]){C + 64, hl_way_word(1, 700)});
	put(s, 0, 700, HL_REC_ALLOC, 0, 2, (uint64_t[]){A + 128, hl_way_word(1, unknown)});
	put(s, 0, 800, HL_REC_ALLOC_WAY, 0, 5,
		(uint64_t[]){B + 128, hl_stack_word(HL_SIZE_BIG, 1, 0), wrong, 1u << 30, 0x500});
	put(s, 0, 900, HL_REC_ALLOC, 0, 2, (uint64_t[]){C + 128, hl_way_word(1, 700)});
	finish(s);
	expect(s, "a0 a1 a2 a3 a4 a5 a6 a7 a8");
	expect_stack(s, 0, (uint64_t[]){0x200, 0x100}, 2);
	expect_stack(s, 1, (uint64_t[]){0x300, 0x100}, 2);
	expect_stack(s, 2, (uint64_t[]){0x200, 0x100}, 2);
	expect_stack(s, 3, (uint64_t[]){0x300, 0x100}, 2);
	expect_stack(s, 4, (uint64_t[]){0x400, 0x100}, 2);
	expect_stack(s, 5, (uint64_t[]){0x400, 0x100}, 2);
	expect_stack(s, 6, (uint64_t[]){HL_OFFSET_CUT}, 1);
	expect_stack(s, 7, (uint64_t[]){0x500}, 1);
	assert_int_equal(s->events.events[7].size, 1u << 30);
	expect_stack(s, 8, (uint64_t[]){0x400, 0x100}, 2);
}

/* Parts whose writer was left for good by siglongjmp are not the next event's. */
static void parts_without_an_event_are_nobodys(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	put(s, 0, 100, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST, 1, 0), 0x999});
	put(s, 0, 200, HL_REC_STACK, 0, 1, (uint64_t[]){hl_stack_word(HL_STACK_FIRST, 0, 0)});
	put(s, 0, 300, HL_REC_ALLOC, 0, 4, (uint64_t[]){A, hl_stack_word(1, 2, 0), 0x200, 0x100});
	finish(s);
	expect_stack(s, 0, (uint64_t[]){0x200, 0x100}, 2);
}

/* A handler speaks in one shared ring while its thread is in the middle of a stack in another; and
 * what a thread never finished there is not the next event's. */
static void shared_rings_have_stacks_of_their_own(void **state)
{
	const uint32_t one = HL_RING_COUNT - HL_SHARED_RINGS, two = one + 1;
	struct stage *s = *state;

	own(s, 0, 11);
	atomic_store(&s->reader->region->shared_used, 1);
	alloc(s, 0, 10000, A, 1);
	put(s, one, 20000, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	put(s, one, 20100, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST, 1, 0), 0x300});
	put(s, two, 20200, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	put(s, two, 20300, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 0), 0x100});
	put(s, one, 20400, HL_REC_ALLOC, 0, 4,
		(uint64_t[]){C, hl_stack_word(1, 2, 0), 0x200, 0x100});
	put(s, two, 20500, HL_REC_STACK, 0, 2,
		(uint64_t[]){hl_stack_word(HL_STACK_FIRST, 1, 0), 0x999});
	put(s, two, 20600, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	put(s, two, 20700, HL_REC_ALLOC, 0, 3, (uint64_t[]){B + 64, hl_stack_word(1, 1, 0), 0x100});
	finish(s);
	expect(s, "a0 a1 a2 a3");
	expect_stack(s, 1, (uint64_t[]){0x100}, 1);
	expect_stack(s, 2, (uint64_t[]){0x300, 0x200, 0x100}, 3);
	expect_stack(s, 3, (uint64_t[]){0x100}, 1);
	assert_int_equal(s->info->threads, 1);
}

/* An owned ring is its owner's, whatever it says; and it outlives who it says it is. */
static void an_owned_ring_changes_no_hands(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	own(s, 1, 12);
	alloc(s, 0, 10000, A, 1);
	put(s, 1, 20000, HL_REC_SWITCH, 0, 1, (uint64_t[]){11});
	alloc(s, 1, 20100, B, 1);
	put(s, 0, 20200, HL_REC_SWITCH, 0, 1, (uint64_t[]){12});
	alloc(s, 0, 20300, C, 1);
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	hl_region_ring(s->reader->region, 0)->life.__data.__lock = 0x40000000; /* it died */
	hl_region_scan(s->reader, hl_mono_ns());
	alloc(s, 1, 20400, B + 64, 1);
	finish(s);
	expect(s, "a0 a1 a2 a3");
	assert_int_equal(s->info->threads, 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(s->events.events[i].thread, i & 1);
}

/* A fork child's second thread is read before what its first one said: the child is called by its
 * first, and begins with it. */
static void a_child_is_its_first_thread(void **state)
{
	const uint64_t later = UINT64_C(500000000); /* not before the first scan is over */
	struct stage *s = *state;

	own(s, 0, 12);
	own(s, 1, 11);
	for (uint32_t i = 0; i < 2; i++)
		hl_region_ring(s->reader->region, i)->serial = 1;
	alloc(s, 0, later + 20000, B, 1);
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->procs.len, 0);
	put(s, 1, later, HL_REC_PROCESS, 0, 1, (uint64_t[]){11});
	alloc(s, 1, later + 10000, A, 1);
	while (hl_ring_now(s->reader->region) < s->t0 + later + 30000)
		usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->procs.len, 1);
	assert_int_equal(s->reader->procs.data[0]->pid, 11);
	finish(s);
	expect(s, "a0 a1");
	assert_int_equal(s->events.events[0].addr, A);
	assert_true(s->events.events[0].time_ns > 0);
}

static void module(struct stage *s, uint64_t at, uint64_t start, const char *name)
{
	uint64_t words[5] = {start, start + 0x1000, start, 5u << 16};

	memcpy(words + 4, name, 5);
	put(s, 0, at, HL_REC_MODULE, 0, 5, words);
}

/* Another library at the same addresses is another module; the same one elsewhere is the same. */
static void modules_follow_their_addresses(void **state)
{
	static const struct {
		uint64_t start;
		const char *name;
	} loads[] = {{0x100000, "/a.so"}, {0x100000, "/b.so"}, {0x900000, "/a.so"}};
	static const uint32_t number[] = {0, 1, 0};
	struct stage *s = *state;

	own(s, 0, 11);
	for (uint64_t i = 0; i < 3; i++) {
		module(s, 1000 * i + 1, loads[i].start, loads[i].name);
		put(s, 0, 1000 * i + 2, HL_REC_ALLOC, 0, 3,
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

/* A stack goes on while modules come: what it keeps are the nodes it had, also of frames that
 * nobody has told. */
static void stacks_outlive_new_modules(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	module(s, 1000, 0x100000, "/a.so");
	put(s, 0, 1100, HL_REC_ALLOC, 0, 5,
		(uint64_t[]){A, hl_stack_word(1, 3, 0), 0x100030, 0x100020, 0x100010});
	module(s, 1200, 0x200000, "/b.so");
	put(s, 0, 1300, HL_REC_ALLOC, 0, 3, (uint64_t[]){B, hl_stack_word(1, 1, 2), 0x200040});
	put(s, 0, 1400, HL_REC_ALLOC, 0, 5,
		(uint64_t[]){B + 64, hl_stack_word(1, 3, 0), 0x200040, 0x100020, 0x100010});
	put(s, 0, 1500, HL_REC_ALLOC, 0, 2, (uint64_t[]){B + 128, hl_stack_word(1, 0, 2)});
	put(s, 0, 1600, HL_REC_ALLOC, 0, 3, (uint64_t[]){C, hl_stack_word(1, 1, 6), 0x100050});
	module(s, 1700, 0x300000, "/c.so");
	put(s, 0, 1800, HL_REC_ALLOC, 0, 3, (uint64_t[]){C + 64, hl_stack_word(1, 1, 6), 0x100050});
	finish(s);
	expect_stack(s, 0, (uint64_t[]){0x30, 0x20, 0x10}, 3);
	expect_stack(s, 1, (uint64_t[]){0x40, 0x20, 0x10}, 3);
	expect_stack(s, 3, (uint64_t[]){0x20, 0x10}, 2);
	expect_stack(s, 4, (uint64_t[]){0x50, HL_OFFSET_CUT, 0x20, 0x10}, 4);
	assert_int_equal(s->events.events[1].node, s->events.events[2].node);
	assert_int_equal(s->events.events[4].node, s->events.events[5].node);
}

/* A program that scribbles over its ring hurts its own trace: what was right before stays. */
static void a_hostile_ring_is_cut_off(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 100, A, 1);
	put(s, 0, 200, 30, 0, 1, (uint64_t[]){UINT64_MAX});
	alloc(s, 0, 300, B, 1);
	finish(s);
	expect(s, "a0");
	assert_true(s->info->counters.dropped_events > 0);
}

static void a_hostile_position_is_not_followed(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 100, A, 1);
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	hl_region_ring(s->reader->region, 0)->w = UINT64_C(0x7fffffffffffff08);
	finish(s);
	expect(s, "a0");
	assert_true(s->info->counters.dropped_events > 0);
}

/* What a block leaves behind where it lay, the books know by such an address: nobody may use it. */
static void hostile_addresses_are_nobodys(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 100, A, 1);
	release(s, 0, 200, ~A);
	release(s, 0, 300, A);
	release(s, 0, 400, ~A);
	alloc(s, 0, 500, ~A, 1);
	alloc(s, 0, 600, 0, 1);
	move_begin(s, 0, 700, ~A);
	move_end(s, 0, 800, ~A, B, 150);
	alloc(s, 0, 900, A, 2);
	finish(s);
	expect(s, "a0 f0 a1 a2");
	assert_int_equal(s->info->counters.dropped_events, 5);
	assert_int_equal(s->info->totals.sums.alloc_bytes - s->info->totals.sums.free_bytes, 152);
}

/* Nothing may be emitted beyond a ring that is about to commit an older stamp. */
static void waits_for_a_busy_ring(void **state)
{
	struct stage *s = *state;
	struct hl_ring *r;

	own(s, 0, 11);
	own(s, 1, 12);
	r = hl_region_ring(s->reader->region, 0);
	r->w |= 1; /* stamped at 1000, not yet in */
	alloc(s, 1, 5000, A, 1);
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	hl_region_scan(s->reader, hl_mono_ns());
	r->w &= ~UINT64_C(1);
	alloc(s, 0, 1000, B, 2);
	finish(s);
	assert_int_equal(s->events.events[0].addr, B);
	assert_int_equal(s->info->counters.late_events, 0);
}

/* No allocator gives out 0 or 1; what says so is a drop, and the rest of the trace is whole. */
static void impossible_addresses_are_drops(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	for (uint64_t addr = 0; addr < 2; addr++) {
		alloc(s, 0, 1000, addr, 8);
		alloc(s, 0, 1000, addr, 8);
		release(s, 0, 1000, addr);
		move_begin(s, 0, 1000, addr);
		move_end(s, 0, 1000, addr, addr, 8);
	}
	alloc(s, 0, 2000, A, 8);
	move_end(s, 0, 3000, 1, B, 16);
	move_begin(s, 0, 4000, A);
	move_end(s, 0, 4000, A, 1, 0);
	release(s, 0, 5000, B);
	finish(s);
	assert_int_equal(s->info->counters.dropped_events, 10);
	assert_int_equal(s->info->counters.unknown_frees, 0);
	assert_int_equal(s->events.n_events, 4);
	assert_int_equal(s->events.events[2].op, HL_OP_FREE);
	assert_int_equal(s->events.events[2].addr, A);
}

static void a_cost_that_cannot_be_is_bounded(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	alloc(s, 0, 1000, A, 8);
	put(s, 0, 2000, HL_REC_EXIT, 0, 7, (uint64_t[]){0, 0, 0, 0, 0, 0, UINT64_MAX});
	finish(s);
	assert_int_equal(s->info->cost.hook_ns, INT64_MAX);
}

/* Frees of what is not there, all at one instant: they wait for nothing, and not without end. */
static void waiting_events_are_bounded(void **state)
{
	struct stage *s = *state;

	own(s, 0, 11);
	meet_another(s);
	for (uint64_t i = 0; i < 20000; i++) {
		release(s, 0, 1000, A + 16 * i);
		move_begin(s, 0, 1000, A + 16 * i);
		if (i % 1000 == 0)
			hl_region_scan(s->reader, hl_mono_ns());
	}
	usleep(2000); /* all of it lies before the next scan */
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->procs.len, 1);
	assert_in_range(s->reader->procs.data[0]->parked.len, 1, 4096);
	assert_in_range(s->reader->procs.data[0]->moves.len, 1, 4096);
	finish(s);
	assert_int_equal(s->info->counters.unknown_frees, 20000);
}

/* As many processes as it can name: some get a trace, the others' events are drops. */
static void processes_are_bounded(void **state)
{
	struct stage *s = *state;
	uint32_t shared = HL_RING_COUNT - 1;

	s->settings.output.pattern = "%n.hlt";
	s->settings.max_processes = 16;
	own(s, 0, 11);
	alloc(s, 0, 1000, A, 8);
	hl_region_scan(s->reader, hl_mono_ns());
	atomic_store(&s->reader->region->shared_used, 1);
	for (uint64_t i = 0; i < 120; i++) {
		put(s, shared, 2000, HL_REC_SWITCH, 0, 1, (uint64_t[]){(i + 1) << 32 | 999999});
		alloc(s, shared, 2000, B, 8);
	}
	usleep(1000);
	hl_region_scan(s->reader, hl_mono_ns());
	assert_int_equal(s->reader->procs.len, 16);
	assert_int_equal(s->reader->procs.data[0]->counters.dropped_events, 105);
	while (s->reader->procs.len)
		hl_region_end_process(
			s->reader, s->reader->procs.data[0], &(struct hl_end){.kind = HL_END_LOST});
	hl_queue_stop(&s->queue);
	for (int i = 1; i <= 16; i++) {
		snprintf(s->path, sizeof(s->path), "%s/%d.hlt", s->dir, i);
		assert_int_equal(unlink(s->path), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		TEST(merges_rings_by_stamp),
		TEST(a_realloc_is_one_step),
		TEST(limbo_ends_where_the_address_is_reused),
		TEST(a_failed_realloc_changes_nothing),
		TEST(realloc_to_nothing_is_a_free),
		TEST(small_disorder_is_put_right),
		TEST(who_waits_is_next),
		TEST(what_does_not_fit_is_counted_as_that),
		TEST(a_free_is_not_older_than_its_block),
		TEST(a_thread_alone_waits_for_nobody),
		TEST(a_block_is_not_freed_before_it_came),
		TEST(small_disorder_is_put_right_behind_more),
		TEST(a_realloc_waits_behind_its_block),
		TEST(an_unrecorded_free_takes_nothing_with_it),
		TEST(samples_stand_for_others),
		cmocka_unit_test(weights_are_unbiased), /* without a stage */
		TEST(stacks_come_in_parts),
		TEST(numbers_stand_for_stacks),
		TEST(parts_without_an_event_are_nobodys),
		TEST(shared_rings_have_stacks_of_their_own),
		TEST(an_owned_ring_changes_no_hands),
		TEST(a_child_is_its_first_thread),
		TEST(modules_follow_their_addresses),
		TEST(stacks_outlive_new_modules),
		TEST(a_hostile_ring_is_cut_off),
		TEST(a_hostile_position_is_not_followed),
		TEST(hostile_addresses_are_nobodys),
		TEST(waits_for_a_busy_ring),
		TEST(impossible_addresses_are_drops),
		TEST(a_cost_that_cannot_be_is_bounded),
		TEST(waiting_events_are_bounded),
		TEST(processes_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
