/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_file_test.c - sinks of packed chunks: they get the bytes of the file, and none of them can
 * damage it.
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
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/heap_sim.h"
#include "trace/read/reader.h"
#include "trace/write/chunk_file.h"
#include "trace/write/packed_sink.h"
#include "trace/write/writer.h"
#include "util/vec.h"

#define SYNC   UINT64_C(0x1234567890abcdef) /* the same in all files, so that they are comparable */
#define EVENTS 5000
#define NODES  50u
#define NEVER  UINT64_MAX

static char dir[] = "/tmp/hl-chunk-file-XXXXXX";
static char path[128];

static const struct hl_meta meta = {.program = "p",
	.command = "",
	.arch = "cpu",
	.clock = "tsc",
	.mode = "trace",
	.allocator = ""};

/* Keeps all bytes. Fails at the points that a test sets. */
struct memory {
	HL_VEC(uint8_t) bytes;
	size_t header_len;
	uint64_t n_headers, n_chunks, n_trailers;
	uint64_t fail_at_header, fail_at_chunk; /* NEVER: does not fail */
	bool fail_at_trailer;
	int n_closed, closed_with;
};

static void append(struct memory *m, const void *bytes, size_t len)
{
	assert_int_equal(hl_vec_reserve(&m->bytes, m->bytes.len + len), 0);
	memcpy(m->bytes.data + m->bytes.len, bytes, len);
	m->bytes.len += len;
}

static int keep_header(void *arg, const void *bytes, size_t len)
{
	struct memory *m = arg;

	assert_int_equal(m->n_closed, 0);
	if (m->n_headers == m->fail_at_header)
		return -ECONNRESET;
	if (m->n_headers++ == 0) {
		assert_int_equal(m->bytes.len, 0);
		m->header_len = len;
		append(m, bytes, len);
	}
	assert_int_equal(len, m->header_len);
	memcpy(m->bytes.data, bytes, len);
	return 0;
}

static int keep_chunk(void *arg, uint64_t n, const void *bytes, size_t len)
{
	struct memory *m = arg;

	assert_int_equal(m->n_closed, 0);
	assert_int_equal(n, m->n_chunks);
	assert_int_equal(m->n_trailers, 0);
	if (n == m->fail_at_chunk)
		return -EPIPE;
	m->n_chunks++;
	append(m, bytes, len);
	return 0;
}

static int keep_trailer(void *arg, const void *bytes, size_t len)
{
	struct memory *m = arg;

	assert_int_equal(m->n_closed, 0);
	if (m->fail_at_trailer)
		return -ETIMEDOUT;
	m->n_trailers++;
	append(m, bytes, len);
	return 0;
}

static void on_closed(void *arg, int err)
{
	struct memory *m = arg;

	m->n_closed++;
	m->closed_with = err;
}

static struct memory new_memory(void)
{
	return (struct memory){.fail_at_header = NEVER, .fail_at_chunk = NEVER};
}

static struct hl_packed_sink sink_of(struct memory *m)
{
	return (struct hl_packed_sink){.header = keep_header,
		.chunk = keep_chunk,
		.trailer = keep_trailer,
		.closed = on_closed,
		.arg = m};
}

static int put_chunk(void *arg, const struct hl_sealed *chunk)
{
	return hl_chunk_file_put(arg, chunk);
}

struct run {
	struct hl_chunk_file *file;
	struct hl_file_status status;
	struct hl_writer *writer;
	struct hl_heap_sim sim;
};

/* Opens the file and a writer with several events in a chunk. Sinks are added in between, because
 * the writer's first chunk is that of META. */
static void begin(struct run *r, struct memory *const *sinks, size_t n_sinks)
{
	const struct hl_writer_options options = {.max_events = 256};
	const struct hl_node node = {.parent = HL_NODE_NONE, .module = HL_MODULE_NONE};
	int fd;

	memset(r, 0, sizeof(*r));
	snprintf(path, sizeof(path), "%s/t", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(hl_chunk_file_open(&r->file, fd, SYNC, &r->status), 0);
	for (size_t i = 0; i < n_sinks; i++) {
		struct hl_packed_sink sink = sink_of(sinks[i]);

		assert_int_equal(hl_chunk_file_add_sink(r->file, &sink), 0);
	}
	assert_int_equal(
		hl_writer_open_to(&r->writer, &meta, &options, put_chunk, r->file, &r->status), 0);
	assert_int_equal(hl_heap_sim_init(&r->sim, 3, NODES, 1, 1000), 0);
	for (uint32_t i = 0; i < NODES; i++)
		assert_int_equal(hl_writer_add_node(r->writer, &node), 0);
	assert_int_equal(hl_writer_add_thread(r->writer, 1), 0);
}

static int add_events(struct run *r, int n)
{
	struct hl_event e;
	int err = 0;

	for (int i = 0; i < n && !err; i++) {
		hl_heap_sim_next(&r->sim, &e);
		err = hl_writer_add_event(r->writer, &e);
	}
	return err;
}

static int end_trace(struct run *r)
{
	return hl_writer_end(
		r->writer, &(struct hl_end){.kind = HL_END_EXIT}, &(struct hl_counters){0});
}

static void finish(struct run *r)
{
	hl_writer_close(r->writer);
	hl_chunk_file_close(r->file);
	hl_heap_sim_fini(&r->sim);
}

/* The caller frees the result. */
static uint8_t *read_whole_file(size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;

	assert_int_equal(fstat(fd, &st), 0);
	*len = (size_t)st.st_size;
	data = malloc(*len);
	assert_non_null(data);
	assert_int_equal(read(fd, data, *len), *len);
	close(fd);
	return data;
}

static void assert_file_is(const uint8_t *data, size_t len)
{
	size_t file_len;
	uint8_t *file = read_whole_file(&file_len);

	assert_int_equal(file_len, len);
	assert_memory_equal(file, data, len);
	free(file);
}

static void assert_whole_trace(void)
{
	const struct hl_trace_info *info;
	struct hl_reader_refusal why;
	struct hl_reader *r;

	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->end.kind, HL_END_EXIT);
	assert_true(info->has_end);
	assert_int_equal(info->totals.events, EVENTS);
	hl_reader_close(r);
}

static void a_sink_gets_the_bytes_of_the_file(void **state)
{
	struct memory one = new_memory(), two = new_memory(), *const sinks[] = {&one, &two};
	struct run r;

	begin(&r, sinks, 2);
	assert_int_equal(add_events(&r, EVENTS), 0);
	assert_int_equal(end_trace(&r), 0);
	assert_int_equal(one.n_closed, 0);
	finish(&r);
	assert_whole_trace();
	for (size_t i = 0; i < 2; i++) {
		assert_true(sinks[i]->n_chunks > EVENTS / 256);
		assert_int_equal(sinks[i]->n_headers, 1);
		assert_int_equal(sinks[i]->n_trailers, 1);
		assert_int_equal(sinks[i]->n_closed, 1);
		assert_int_equal(sinks[i]->closed_with, 0);
		assert_file_is(sinks[i]->bytes.data, sinks[i]->bytes.len);
		hl_vec_free(&sinks[i]->bytes);
	}
}

static void a_sink_gets_a_header_that_is_rewritten(void **state)
{
	struct memory m = new_memory(), *const sinks[] = {&m};
	struct hl_unwritten missing = {.error = ENOSPC, .events = 17};
	struct run r;

	begin(&r, sinks, 1);
	assert_int_equal(add_events(&r, EVENTS), 0);
	hl_chunk_file_set_unwritten(r.file, &missing);
	missing.events = 18;
	hl_chunk_file_set_unwritten(r.file, &missing);
	assert_int_equal(end_trace(&r), 0);
	finish(&r);
	assert_int_equal(m.n_headers, 3);
	assert_file_is(m.bytes.data, m.bytes.len);
	hl_vec_free(&m.bytes);
}

/* Like a full disk: a chunk is written in part, then removed, and the header says so. */
static void a_full_disk_ends_the_bytes_of_a_sink_too(void **state)
{
	struct memory m = new_memory(), *const sinks[] = {&m};
	struct rlimit old, small;
	uint64_t written;
	struct run r;

	begin(&r, sinks, 1);
	assert_int_equal(add_events(&r, EVENTS), 0);
	written = m.n_chunks;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){m.bytes.len + 100, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(add_events(&r, EVENTS), -EFBIG);
	hl_chunk_file_set_unwritten(r.file, &(struct hl_unwritten){.error = EFBIG, .events = 5});
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(end_trace(&r), -EFBIG);
	finish(&r);
	assert_int_equal(m.n_chunks, written);
	assert_int_equal(m.n_headers, 2);
	assert_int_equal(m.n_trailers, 0);
	assert_int_equal(m.n_closed, 1);
	assert_int_equal(m.closed_with, 0);
	assert_file_is(m.bytes.data, m.bytes.len);
	hl_vec_free(&m.bytes);
}

static void a_failing_sink_leaves_the_file_and_other_sinks_whole(void **state)
{
	static const struct {
		uint64_t header, chunk;
		bool trailer;
		int err;
	} cases[] = {
		{1, NEVER, false, -ECONNRESET},
		{NEVER, 0, false, -EPIPE},
		{NEVER, 7, false, -EPIPE},
		{NEVER, NEVER, true, -ETIMEDOUT},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct memory first = new_memory(), bad = new_memory(), last = new_memory();
		struct memory *const sinks[] = {&first, &bad, &last};
		struct run r;

		bad.fail_at_header = cases[i].header;
		bad.fail_at_chunk = cases[i].chunk;
		bad.fail_at_trailer = cases[i].trailer;
		begin(&r, sinks, 3);
		assert_int_equal(add_events(&r, EVENTS), 0);
		hl_chunk_file_set_unwritten(r.file, &(struct hl_unwritten){0});
		assert_int_equal(end_trace(&r), 0);
		assert_int_equal(bad.n_closed, 1);
		assert_int_equal(bad.closed_with, cases[i].err);
		finish(&r);
		assert_int_equal(bad.n_closed, 1);
		assert_whole_trace();
		assert_file_is(first.bytes.data, first.bytes.len);
		assert_file_is(last.bytes.data, last.bytes.len);
		for (size_t k = 0; k < 3; k++)
			hl_vec_free(&sinks[k]->bytes);
	}
}

static void a_sink_is_added_before_the_first_chunk_or_refused(void **state)
{
	struct memory good = new_memory(), late = new_memory(), bad = new_memory();
	struct memory *const sinks[] = {&good};
	struct hl_packed_sink sink = sink_of(&late);
	struct run r;

	begin(&r, sinks, 1);
	assert_int_equal(hl_chunk_file_add_sink(r.file, &sink), -EBUSY);
	assert_int_equal(late.n_headers, 0);
	finish(&r);

	begin(&r, NULL, 0);
	finish(&r);
	bad.fail_at_header = 0;
	sink = sink_of(&bad);
	assert_int_equal(hl_chunk_file_open(&r.file, open(path, O_RDWR | O_TRUNC | O_CLOEXEC), SYNC,
				 &r.status),
		0);
	assert_int_equal(hl_chunk_file_add_sink(r.file, &sink), -ECONNRESET);
	hl_chunk_file_close(r.file);
	assert_int_equal(bad.n_closed, 0);
	hl_vec_free(&good.bytes);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sink_gets_the_bytes_of_the_file),
		cmocka_unit_test(a_sink_gets_a_header_that_is_rewritten),
		cmocka_unit_test(a_full_disk_ends_the_bytes_of_a_sink_too),
		cmocka_unit_test(a_failing_sink_leaves_the_file_and_other_sinks_whole),
		cmocka_unit_test(a_sink_is_added_before_the_first_chunk_or_refused),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
