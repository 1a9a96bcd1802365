/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_test.c - files that are refused, files that are still being written, files truncated by a
 * full disk.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format/crc32c.h"
#include "trace/format/format_internal.h"
#include "trace/read/reader.h"
#include "trace/write/seal_internal.h"
#include "trace/heap_sim.h"
#include "trace/write/writer.h"

static char dir[] = "/tmp/hl-reader-XXXXXX";
static char path[128];

static const struct hl_meta meta = {.program = "p",
	.command = "",
	.arch = "cpu",
	.clock = "tsc",
	.mode = "trace",
	.allocator = ""};

static void write_file(const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static void assert_refused(int err, const char *word)
{
	struct hl_reader_refusal why;
	struct hl_reader *r;

	assert_int_equal(hl_reader_open(&r, path, &why), err);
	assert_non_null(strstr(why.text, word));
	assert_int_equal(why.text[strlen(why.text) - 1], '.');
}

static void files_that_are_no_trace_are_refused_with_a_reason(void **state)
{
	uint8_t head[HL_FILE_HEADER_LEN];

	snprintf(path, sizeof(path), "%s/missing", dir);
	assert_refused(-ENOENT, "does not exist");
	snprintf(path, sizeof(path), "%s", dir);
	assert_refused(-EISDIR, "directory");
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(-ESPIPE, "regular file");
	unlink(path);
	snprintf(path, sizeof(path), "%s/t", dir);
	write_file("", 0);
	assert_refused(-ENODATA, "empty");
	write_file("#!/bin/sh\necho no trace at all, and long enough to be taken for one\n", 68);
	assert_refused(-EBADMSG, "not a heaplapse trace");
	hl_file_header_encode(head, 77, &(struct hl_unwritten){0});
	write_file(head, 40);
	assert_refused(-EBADMSG, "before its first chunk");
	hl_put32(head + 8, 9);
	hl_put32(head + 60, hl_crc32c(0, head, 60));
	write_file(head, sizeof(head));
	assert_refused(-EPROTONOSUPPORT, "version 9");
	hl_file_header_encode(head, 77, &(struct hl_unwritten){0});
	memmove(head + 4, head + 5, 50); /* CR LF was replaced by LF */
	write_file(head, sizeof(head));
	assert_refused(-EBADMSG, "text-mode");
	hl_file_header_encode(head, 77, &(struct hl_unwritten){0});
	head[20] ^= 1;
	write_file(head, sizeof(head));
	assert_refused(-EBADMSG, "a damaged beginning");
	unlink(path);
}

static struct hl_writer *open_writer(struct hl_heap_sim *sim, uint32_t n_nodes)
{
	const struct hl_node node = {.parent = HL_NODE_NONE, .module = HL_MODULE_NONE};
	struct hl_writer *w;
	int fd;

	snprintf(path, sizeof(path), "%s/t", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(hl_writer_open(&w, fd, &meta), 0);
	assert_int_equal(hl_heap_sim_init(sim, 3, n_nodes, 1, 1000), 0);
	for (uint32_t i = 0; i < n_nodes; i++)
		assert_int_equal(hl_writer_add_node(w, &node), 0);
	assert_int_equal(hl_writer_add_thread(w, 1), 0);
	return w;
}

static int add_events(struct hl_writer *w, struct hl_heap_sim *sim, int n)
{
	struct hl_event e;
	int err = 0;

	for (int i = 0; i < n && !err; i++) {
		hl_heap_sim_next(sim, &e);
		err = hl_writer_add_event(w, &e);
	}
	return err;
}

static void a_file_being_written_opens_as_running(void **state)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_writer *w;
	struct hl_reader *r;
	struct hl_heap_sim sim;

	w = open_writer(&sim, 10);
	assert_int_equal(add_events(w, &sim, 1000), 0);
	while (sim.moved) /* the first half of a realloc is not flushed */
		assert_int_equal(add_events(w, &sim, 1), 0);
	assert_int_equal(hl_writer_flush(w), 0);
	assert_true(hl_writer_durable_events(w) >= 1000);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->end.kind, HL_END_RUNNING);
	assert_int_equal(info->totals.events, hl_writer_durable_events(w));
	assert_false(info->damaged);
	hl_reader_close(r);
	hl_writer_close(w);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->end.kind, HL_END_LOST);
	hl_reader_close(r);
	hl_heap_sim_fini(&sim);
	unlink(path);
}

/* Removes the index and the trailer of a complete trace; `more` bytes of the index stay. */
static void cut_index(uint64_t more)
{
	uint8_t head[HL_FILE_HEADER_LEN], trailer[HL_TRAILER_LEN];
	uint64_t sync, index_at;
	uint32_t version;
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(hl_file_header_decode(head, &sync, &version), HL_HEADER_GOOD);
	assert_int_equal(
		pread(fd, trailer, sizeof(trailer), st.st_size - HL_TRAILER_LEN), sizeof(trailer));
	assert_int_equal(hl_trailer_decode(trailer, sync, &index_at), 0);
	assert_int_equal(ftruncate(fd, (off_t)(index_at + more)), 0);
	close(fd);
}

static void a_missing_index_is_no_damage_while_the_writer_runs(void **state)
{
	const struct hl_end end = {.kind = HL_END_EXIT, .value = 3};
	const struct hl_counters counters = {0};
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_writer *w;
	struct hl_reader *r;
	struct hl_heap_sim sim;

	for (int i = 0; i < 6; i++) {
		bool written = i % 2;
		int fd;

		w = open_writer(&sim, 10);
		assert_int_equal(add_events(w, &sim, 1000), 0);
		assert_int_equal(hl_writer_end(w, &end, &counters), 0);
		hl_writer_close(w);
		cut_index((uint64_t)(i / 2) *
			  20); /* no bytes of the index, a part of its header, more */
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(written ? flock(fd, LOCK_EX) : 0, 0);
		assert_int_equal(hl_reader_open(&r, path, &why), 0);
		assert_int_equal(hl_reader_info(r, &info), 0);
		assert_int_equal(info->end.kind, HL_END_EXIT);
		assert_true(info->totals.events >= 1000);
		assert_int_equal(info->damaged, !written);
		hl_reader_close(r);
		close(fd);
		hl_heap_sim_fini(&sim);
		unlink(path);
	}
}

static void a_full_disk_leaves_complete_chunks(void **state)
{
	const struct rlimit small = {100000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	const struct hl_end end = {.kind = HL_END_EXIT};
	const struct hl_counters counters = {0};
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_writer *w;
	struct hl_reader *r;
	struct hl_heap_sim sim;

	w = open_writer(&sim, 1000);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(add_events(w, &sim, 2000000), -EFBIG);
	assert_int_equal(add_events(w, &sim, 1), -EFBIG);
	assert_int_equal(hl_writer_end(w, &end, &counters), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->totals.events, hl_writer_durable_events(w));
	assert_true(info->totals.events > 0);
	assert_false(info->damaged);
	hl_reader_close(r);
	hl_writer_close(w);
	hl_heap_sim_fini(&sim);
	unlink(path);
}

static void invalid_events_are_refused(void **state)
{
	const struct hl_event cases[] = {
		{.ordinal = 1},              /* not the next ordinal */
		{.ordinal = 0, .node = 10},  /* no such node */
		{.ordinal = 0, .thread = 1}, /* no such thread */
		{.op = HL_OP_FREE,
			.free_node = HL_NODE_NONE}, /* free of a block that was never allocated */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hl_writer *w;
		struct hl_heap_sim sim;

		w = open_writer(&sim, 10);
		assert_int_equal(hl_writer_add_event(w, &cases[i]), -EINVAL);
		assert_int_equal(add_events(w, &sim, 1), -EINVAL); /* the first error is sticky */
		hl_writer_close(w);
		hl_heap_sim_fini(&sim);
	}
	unlink(path);
}

/* Packed, they would take fewer bytes than the reader's limit requires, so the writer stores
 * them. */
static void identical_nodes_can_be_read(void **state)
{
	const uint32_t n = 400000;
	const struct hl_end end = {.kind = HL_END_EXIT};
	const struct hl_counters counters = {0};
	const struct hl_trace_info *info;
	struct hl_reader_refusal why;
	struct hl_writer *w;
	struct hl_reader *r;
	struct hl_node node;
	struct hl_heap_sim sim;
	uint32_t n_nodes;

	w = open_writer(&sim, n);
	assert_int_equal(add_events(w, &sim, 1000), 0);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	assert_in_range(hl_writer_bytes(w), 2 * (n - HL_NODES_BASE), 4 * n);
	hl_writer_close(w);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_n_nodes(r, &n_nodes), 0);
	assert_int_equal(n_nodes, n);
	assert_int_equal(hl_reader_node(r, n - 1, &node), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_false(info->damaged);
	hl_reader_close(r);
	hl_heap_sim_fini(&sim);
	unlink(path);
}

/* Adds 1000 blocks. Every second one is written, half of them are freed, written or not. */
static void write_half_of_the_events(struct hl_writer *w)
{
	for (uint32_t i = 0; i < 1000; i++) {
		struct hl_event e = {.time_ns = i * UINT64_C(64),
			.addr = 4096 + i * UINT64_C(64),
			.size = 10,
			.ordinal = i / 2,
			.node = i % 10,
			.free_node = HL_NODE_NONE,
			.func = HL_FUNC_MALLOC,
			.blocks = 1,
			.bytes = 10};

		assert_int_equal(hl_writer_add_event_sums_only(w, &e), 0);
		if (i % 2 == 0)
			assert_int_equal(hl_writer_add_event_columns_only(w, &e), 0);
		if (i == 500)
			assert_int_equal(
				hl_writer_snapshot(w, &(struct hl_snapshot){.time_ns = e.time_ns,
							      .label = "half"}),
				0);
		if (i % 4 < 2)
			continue;
		e.op = HL_OP_FREE;
		e.alloc_ns = e.time_ns;
		assert_int_equal(hl_writer_add_event_sums_only(w, &e), 0);
		if (i % 2 == 0)
			assert_int_equal(hl_writer_add_event_columns_only(w, &e), 0);
	}
}

static void aggregated_events_are_in_the_sums(void **state)
{
	const struct hl_counters counters = {0};
	const struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_sums aggregated[10], all = {0};
	const struct hl_trace_info *info;
	struct hl_reader_refusal why;
	struct hl_writer *w;
	struct hl_reader *r;
	struct hl_heap_sim sim;

	w = open_writer(&sim, 10);
	write_half_of_the_events(w);
	assert_int_equal(hl_writer_aggregated_sums(w)->alloc_blocks, 500);
	assert_int_equal(hl_writer_end_snapshot(w, &(struct hl_snapshot){.label = "end"}), 0);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(hl_reader_verify(r, NULL), 0);
	assert_false(info->damaged);
	assert_int_equal(info->totals.sums.alloc_blocks, 1000);
	assert_int_equal(info->totals.sums.free_bytes, 5000);
	assert_int_equal(info->aggregated.alloc_blocks, 500);
	assert_int_equal(info->aggregated.free_blocks, 250);
	assert_int_equal(
		hl_reader_load_aggregated(r, hl_reader_n_keyframes(r) - 1, aggregated, NULL, 10),
		0);
	for (uint32_t i = 0; i < 10; i++) {
		all.alloc_blocks += aggregated[i].alloc_blocks;
		all.free_bytes += aggregated[i].free_bytes;
	}
	assert_int_equal(all.alloc_blocks, 500);
	assert_int_equal(all.free_bytes, 2500);
	hl_reader_close(r);
	hl_heap_sim_fini(&sim);
	unlink(path);
}

/* Changes chunks between writer and file: an EVENTS chunk claims to end earlier_ns earlier. */
struct forger {
	struct hl_chunk_file *file;
	uint64_t earlier_ns;
	bool huge_step; /* the last time step becomes the largest its bytes can encode */
};

static void forge_step(struct hl_sealed *chunk)
{
	uint8_t *at = (uint8_t *)(chunk + 1);

	for (uint32_t i = 0; i < chunk->n_columns; at += chunk->columns[i++].len)
		if (chunk->columns[i].id == HL_COL_STEP) {
			memset(at + chunk->columns[i].len - 9, 0xff, 8);
			at[chunk->columns[i].len - 1] = 0x7f;
		}
}

static int forge_chunk(void *arg, const struct hl_sealed *chunk)
{
	struct hl_sealed *copy = hl_sealed_copy(chunk);
	struct forger *f = arg;
	int err;

	assert_non_null(copy);
	if (copy->head.type == HL_CHUNK_EVENTS) {
		copy->head.t1_ns -= f->earlier_ns;
		if (f->huge_step)
			forge_step(copy);
	}
	err = hl_chunk_file_put(f->file, copy);
	free(copy);
	return err;
}

/* Writes two events, the second `units` time units after the first, and decodes them. */
static int decode_forged(uint64_t units, uint64_t earlier_ns, bool huge_step)
{
	struct forger f = {.earlier_ns = earlier_ns, .huge_step = huge_step};
	struct hl_reader_refusal why;
	struct hl_chunk_events c = {0};
	struct hl_file_status status = {0};
	struct hl_reader *r;
	struct hl_writer *w;
	int fd, err;

	snprintf(path, sizeof(path), "%s/t", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(hl_chunk_file_open(&f.file, fd, 0, &status), 0);
	assert_int_equal(hl_writer_open_to(&w, &meta, NULL, forge_chunk, &f, &status), 0);
	assert_int_equal(hl_writer_add_thread(w, 1), 0);
	for (uint64_t i = 0; i < 2; i++) {
		struct hl_event e = {.ordinal = i,
			.node = HL_NODE_NONE,
			.addr = i * 16,
			.time_ns = i * units * HL_TIME_UNIT_NS};

		assert_int_equal(hl_writer_add_event(w, &e), 0);
	}
	hl_writer_close(w);
	hl_chunk_file_close(f.file);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	err = hl_reader_decode(r, 0, &c);
	if (!err)
		assert_int_equal(c.events[1].time_ns, units * HL_TIME_UNIT_NS);
	hl_chunk_events_free(&c);
	hl_reader_close(r);
	unlink(path);
	return err;
}

static void events_after_the_end_of_their_chunk_are_refused(void **state)
{
	const uint64_t far = UINT64_C(1) << 57;

	assert_int_equal(decode_forged(5, 0, false), 0);
	assert_int_equal(decode_forged(5, 64, false), -EBADMSG);
	assert_int_equal(decode_forged(1000, 0, false), 0);
	assert_int_equal(decode_forged(1000, 64, false), -EBADMSG);
	assert_int_equal(decode_forged(far, 0, false), 0);
	assert_int_equal(decode_forged(far, 0, true), -EBADMSG);
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_no_trace_are_refused_with_a_reason),
		cmocka_unit_test(a_file_being_written_opens_as_running),
		cmocka_unit_test(a_missing_index_is_no_damage_while_the_writer_runs),
		cmocka_unit_test(a_full_disk_leaves_complete_chunks),
		cmocka_unit_test(invalid_events_are_refused),
		cmocka_unit_test(identical_nodes_can_be_read),
		cmocka_unit_test(aggregated_events_are_in_the_sums),
		cmocka_unit_test(events_after_the_end_of_their_chunk_are_refused),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
