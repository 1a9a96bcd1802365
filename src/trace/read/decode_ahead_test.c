/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_ahead_test.c - a loop gets the same events, errors, marks of damage and counts with any
 * number of threads, on undamaged and damaged traces, in any order of chunks; it may stop at any
 * time; and it works when threads cannot be created. Runs under TSan too.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/attr.h"
#include "trace/heap_sim.h"
#include "trace/read/decode_ahead.h"
#include "trace/read/reader_internal.h"
#include "trace/write/writer.h"

#define EVENTS 40000
#define CHUNK  200
#define NODES  100

static char path[] = "/tmp/hl-ahead-XXXXXX";
static unsigned n_created, n_allowed; /* threads */

/* The order in which a test reads the chunks. */
enum order { ALL, SOME, TWICE, BACKWARDS, N_ORDERS };

/* --- the trace --- */

static void write_trace(void)
{
	const struct hl_writer_options o = {.max_events = CHUNK, .keyframe_events = 5000};
	const struct hl_meta meta = {.program = "p",
		.command = "",
		.arch = "cpu",
		.clock = "tsc",
		.mode = "trace",
		.allocator = ""};
	const struct hl_node node = {.parent = HL_NODE_NONE, .module = HL_MODULE_NONE};
	int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
	struct hl_heap_sim sim;
	struct hl_writer *w;
	struct hl_event e;

	assert_int_equal(hl_writer_open_with(&w, fd, &meta, &o), 0);
	assert_int_equal(hl_heap_sim_init(&sim, 9, NODES, 3, 2000), 0);
	sim.strange = true;
	for (uint32_t i = 0; i < NODES; i++)
		assert_int_equal(hl_writer_add_node(w, &node), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(hl_writer_add_thread(w, 10 + i), 0);
	for (uint32_t i = 0; i < EVENTS; i++) {
		hl_heap_sim_next(&sim, &e);
		assert_int_equal(hl_writer_add_event(w, &e), 0);
		if (i % 777 == 0)
			hl_writer_add_extra(w, &(struct hl_extra){.time_ns = e.time_ns,
						       .node = HL_NODE_NONE,
						       .kind = HL_EXTRA_MARK,
						       .text = "mark"});
	}
	assert_int_equal(
		hl_writer_end(w, &(struct hl_end){.kind = HL_END_EXIT}, &(struct hl_counters){0}),
		0);
	hl_writer_close(w);
	hl_heap_sim_fini(&sim);
}

/* Changes n bytes of the chunks of events. */
static void damage_trace(struct hl_reader *r, unsigned n, unsigned round)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	for (unsigned i = 0; i < n; i++) {
		uint64_t hash = hl_hash_u64(round * 100 + i);
		const struct hl_chunk_row *w =
			&r->rows.data[r->chunk_rows.data[hash % r->chunks.len]];
		off_t at = (off_t)(w->at + (hash >> 32) % w->head.length);
		uint8_t byte;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x5a;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	close(fd);
}

static struct hl_reader *open_reader(unsigned workers)
{
	struct hl_reader_refusal why;
	struct hl_reader *r;

	if (hl_reader_open(&r, path, &why) < 0)
		fail_msg("%s", why.text);
	assert_int_equal(r->workers, 0); /* the file is small */
	hl_reader_set_workers(r, workers);
	return r;
}

/* --- what a loop sees --- */

static int create_counted(
	pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	if (n_created == n_allowed)
		return EAGAIN;
	n_created++;
	return pthread_create(thread, attr, run, arg);
}

static uint64_t hash_event(uint64_t h, const struct hl_event *e)
{
	const uint64_t fields[] = {e->time_ns, e->addr, e->size, e->ordinal, e->alloc_ns, e->node,
		e->free_node, e->thread, e->alloc_role, e->op, e->func, e->flags, e->lifetime_class,
		e->pair_index, e->blocks, e->bytes};

	for (size_t i = 0; i < HL_ARRAY_LEN(fields); i++)
		h = hl_hash_u64(h ^ fields[i]);
	return h;
}

static void put_chunk(FILE *out, const struct hl_reader *r, int err, unsigned want,
	const struct hl_chunk_events *c)
{
	uint64_t h = 0;

	for (size_t i = 0; i < c->n_events && want == HL_WANT_ALL; i++)
		h = hash_event(h, &c->events[i]);
	for (size_t i = 0; i < c->n_events; i++)
		h = hl_hash_u64(h ^ c->events[i].size ^ c->events[i].ordinal);
	for (size_t i = 0; i < c->n_extras && want == HL_WANT_ALL; i++)
		h = hl_hash_u64(h ^ c->extras[i].time_ns ^ c->extras_at[i]);
	fprintf(out, "%d %zu %" PRIx64 " %d %" PRIu64 " %" PRIu64 " %s\n", err, c->n_events, h,
		c->follows_alloc, hl_reader_bytes_read(r), hl_reader_events_decoded(r),
		err ? hl_reader_error(r) : "");
}

static size_t chunk_at(enum order order, size_t i, size_t n)
{
	switch (order) {
	case SOME:
		return i + i / 7 % 3;
	case TWICE:
		return i % (n / 2);
	case BACKWARDS:
		return i % 20 < 15 ? i : n - i;
	default:
		return i;
	}
}

/* Reads chunks in an order and returns all that the loop sees. `stop`: how many are read. */
static char *read_all(unsigned workers, enum order order, size_t stop)
{
	struct hl_reader *r = open_reader(workers);
	const struct hl_trace_info *info;
	struct hl_chunk_events c = {0};
	struct hl_decode_ahead a;
	size_t n = hl_reader_n_chunks(r), len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	n_created = 0;
	r->create_thread = create_counted;
	hl_decode_ahead_init(&a, r);
	for (size_t i = 0; i < n && i < stop; i++) {
		size_t chunk = chunk_at(order, i, n);
		unsigned asked = order == SOME && i % 13 > 10 ? HL_WANT_NODE : HL_WANT_ALL,
			 want = asked;
		int err = hl_decode_ahead_read(&a, chunk, n, &want, &c);

		assert_int_equal(want & asked, asked);
		put_chunk(out, r, err, asked, &c);
	}
	hl_decode_ahead_fini(&a);
	assert_int_equal(hl_reader_info(r, &info), 0);
	fprintf(out, "%s %" PRIu64 " %" PRIu64 "\n", info->damage, info->lost_chunks,
		info->lost_events);
	fclose(out);
	hl_chunk_events_free(&c);
	hl_reader_close(r);
	return text;
}

static void compare_workers(enum order order, size_t stop)
{
	static const unsigned workers[] = {1, 2, 8};
	char *expected = read_all(0, order, stop);

	assert_int_equal(n_created, 0);
	for (size_t i = 0; i < HL_ARRAY_LEN(workers); i++) {
		char *text = read_all(workers[i], order, stop);

		if (strcmp(text, expected) != 0)
			fail_msg("order %d, %u workers:\n%s\nnone:\n%s", order, workers[i], text,
				expected);
		if (stop > 2)
			assert_int_equal(
				n_created, workers[i] < n_allowed ? workers[i] : n_allowed);
		free(text);
	}
	free(expected);
}

/* --- tests --- */

static void any_number_of_workers_gives_the_same_events(void **state)
{
	write_trace();
	for (enum order order = ALL; order < N_ORDERS; order++)
		compare_workers(order, SIZE_MAX);
}

static void any_number_of_workers_reports_the_same_damage(void **state)
{
	for (unsigned round = 0; round < 12; round++) {
		struct hl_reader *r;

		write_trace();
		r = open_reader(0);
		damage_trace(r, 1 + round * round, round);
		hl_reader_close(r);
		compare_workers(round % N_ORDERS, SIZE_MAX);
	}
}

static void a_loop_may_stop_at_any_time(void **state)
{
	write_trace();
	for (size_t stop = 0; stop < 12; stop++)
		compare_workers(ALL, stop);
}

/* The owner learns of damage by another call while workers decode. */
static void damage_found_meanwhile_is_an_error(void **state)
{
	struct hl_reader *r;
	struct hl_chunk_events c = {0};
	struct hl_decode_ahead a;
	unsigned want = HL_WANT_ALL;

	write_trace();
	r = open_reader(2);
	hl_decode_ahead_init(&a, r);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(hl_decode_ahead_read(&a, i, 100, &want, &c), 0);
	hl_mark_bad(r, r->chunk_rows.data[10]);
	hl_mark_bad(r, r->chunk_rows.data[90]);
	assert_int_equal(hl_decode_ahead_read(&a, 10, 100, &want, &c), -EBADMSG);
	assert_int_equal(c.n_events, 0);
	for (size_t i = 11; i < 90; i++)
		assert_int_equal(hl_decode_ahead_read(&a, i, 100, &want, &c), 0);
	assert_int_equal(hl_decode_ahead_read(&a, 90, 100, &want, &c), -EBADMSG);
	hl_decode_ahead_fini(&a);
	hl_chunk_events_free(&c);
	hl_reader_close(r);
}

static void threads_that_cannot_be_created_are_not_needed(void **state)
{
	write_trace();
	for (n_allowed = 0; n_allowed < 3; n_allowed++)
		compare_workers(ALL, SIZE_MAX);
	n_allowed = UINT32_MAX;
}

static void few_chunks_start_no_thread(void **state)
{
	write_trace();
	free(read_all(8, ALL, 1));
	assert_int_equal(n_created, 0);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	n_allowed = UINT32_MAX;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_workers_gives_the_same_events),
		cmocka_unit_test(any_number_of_workers_reports_the_same_damage),
		cmocka_unit_test(a_loop_may_stop_at_any_time),
		cmocka_unit_test(damage_found_meanwhile_is_an_error),
		cmocka_unit_test(threads_that_cannot_be_created_are_not_needed),
		cmocka_unit_test(few_chunks_start_no_thread),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
