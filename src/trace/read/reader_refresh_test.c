/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_refresh_test.c - a reader that grows with its file answers like one that is opened now: at
 * every chunk boundary and between them, for traces of each mode, damaged, and with a base; and
 * what happens when the file is deleted, replaced or truncated.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "trace/compare_readers.h"
#include "trace/format/format_internal.h"
#include "trace/heap_sim_base.h"
#include "util/vec.h"

#define NODES  40u
#define EVENTS 3000

enum kind {
	KIND_TRACE,
	KIND_TAGS,
	KIND_SAMPLE,
	KIND_COUNT,
	KIND_CULL,
	KIND_NAMES,
	KIND_BASE,
	KIND_BASE_COUNT,
	KIND_KEYFRAMES, /* of several parts */
	KINDS,
};

/* The bytes of a trace, and where its chunks end. */
struct bytes {
	uint8_t *data;
	size_t len;
	HL_VEC(size_t) ends;
};

static struct hl_file_status status;

static const struct hl_meta meta = {.program = "p",
	.command = "",
	.arch = "cpu",
	.clock = "tsc",
	.mode = "trace",
	.allocator = "",
	.pid = 5};

/* --- traces --- */

static void add_node(struct hl_writer *w, uint32_t i)
{
	const struct hl_node n = {.parent = i ? (i - 1) / 2 : HL_NODE_NONE,
		.module = i % 3 ? 0 : HL_MODULE_NONE,
		.offset = i * 16};

	assert_int_equal(hl_writer_add_node(w, &n), 0);
}

static void add_tables(struct hl_writer *w)
{
	const struct hl_module m = {.path = "/lib/a.so", .build_id = (const uint8_t *)"x"};

	assert_int_equal(hl_writer_add_module(w, &m), 0);
	for (uint32_t i = 0; i < NODES; i++)
		add_node(w, i);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(hl_writer_add_thread(w, 100 + i), 0);
}

/* Definitions between events. */
static void add_definitions(struct hl_writer *w, enum kind kind, uint32_t i)
{
	const struct hl_module m = {.path = "/lib/b.so", .build_id = (const uint8_t *)"x"};
	const struct hl_name_frame frame = {.function = i % 2 ? "odd" : "even", .file = "f.c"};
	const struct hl_named_site site = {
		.module = 0, .offset = i * 16, .frames = &frame, .n_frames = 1};
	char name[16];

	assert_int_equal(hl_writer_add_module(w, &m), 0);
	add_node(w, NODES + i);
	assert_int_equal(hl_writer_add_thread(w, 200 + i), 0);
	snprintf(name, sizeof(name), "tag %u", i);
	if (kind == KIND_TAGS && i > 1) {
		assert_int_equal(hl_writer_add_tag(w, HL_TAG_NONE, name, strlen(name)), 0);
		assert_int_equal(hl_writer_add_role(w, 1, i - 2), 0);
	}
	if (kind == KIND_NAMES)
		assert_int_equal(hl_writer_add_names(w, &site), 0);
}

static void add_file(struct hl_writer *w)
{
	const struct hl_embedded_file file = {.path = "/lib/a.so", .size = 100};
	int fd = memfd_create("data", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(hl_writer_add_file(w, &file, fd), 0);
	close(fd);
}

static void add_live_set(struct hl_writer *w, const struct hl_heap_sim *sim)
{
	struct hl_live_block *live = calloc(sim->n_live + 1, sizeof(*live));

	for (size_t i = 0; i < sim->n_live; i++) {
		const struct hl_heap_sim_block *b = &sim->live[i];

		live[i] = (struct hl_live_block){
			b->addr, b->size, b->ordinal, b->alloc_ns, b->node, b->thread, 1, b->size};
		hl_heap_sim_weight(sim, b, &live[i].blocks, &live[i].bytes);
	}
	assert_int_equal(hl_writer_add_live_set(w, live, sim->n_live), 0);
	free(live);
}

static void add_others(struct hl_writer *w, enum kind kind, struct hl_heap_sim *sim, uint32_t i)
{
	const struct hl_extra mark = {
		.kind = HL_EXTRA_MARK, .time_ns = sim->now_ns, .node = HL_NODE_NONE, .text = "m"};
	const struct hl_rss_sample rss = {sim->now_ns, i * UINT64_C(4096)};
	const struct hl_snapshot snapshot = {.time_ns = sim->now_ns, .label = "s"};

	if (i % 211 == 0)
		assert_int_equal(hl_writer_add_extra(w, &mark), 0);
	if (i % 100 == 0)
		assert_int_equal(hl_writer_add_rss(w, &rss), 0);
	if (i % 500 == 499)
		add_definitions(w, kind, i / 500);
	if (i % 300 == 299)
		assert_int_equal(hl_writer_flush(w), 0);
	if (i % 700 == 699)
		assert_int_equal(hl_writer_snapshot(w, &snapshot), 0);
	if (i == EVENTS / 2 && kind != KIND_COUNT && kind != KIND_BASE_COUNT && kind != KIND_CULL)
		add_live_set(w, sim);
	if (i == EVENTS / 2 && kind == KIND_NAMES)
		add_file(w);
}

/* An event as the collector's retention writes it. Ordinals of count and cull are those of written
 * blocks, of which these traces have none. */
static void add_event(struct hl_writer *w, enum kind kind, const struct hl_event *e, uint32_t i)
{
	if (kind == KIND_COUNT || kind == KIND_BASE_COUNT)
		assert_int_equal(hl_writer_add_event_sums_only(w, e), 0);
	else
		assert_int_equal(hl_writer_add_event(w, e), 0);
}

/* Half of the blocks are aggregated: one is allocated and freed between two events. */
static void add_aggregated(struct hl_writer *w, const struct hl_heap_sim *sim, uint32_t i)
{
	struct hl_event e = {.time_ns = sim->now_ns,
		.addr = 16 + i * UINT64_C(16),
		.size = 24,
		.ordinal = UINT64_C(1) << 38,
		.node = i % NODES,
		.free_node = HL_NODE_NONE,
		.blocks = 1,
		.bytes = 24};

	assert_int_equal(hl_writer_add_event_sums_only(w, &e), 0);
	e.op = HL_OP_FREE;
	e.alloc_ns = e.time_ns;
	assert_int_equal(hl_writer_add_event_sums_only(w, &e), 0);
}

static void add_events(struct hl_writer *w, enum kind kind, struct hl_heap_sim *sim)
{
	struct hl_event e;

	for (uint32_t i = 0; i < EVENTS || sim->moved; i++) {
		hl_heap_sim_next(sim, &e);
		add_event(w, kind, &e, i);
		if (sim->moved)
			continue;
		if (kind == KIND_CULL)
			add_aggregated(w, sim, i);
		add_others(w, kind, sim, i);
	}
}

static struct hl_writer *open_writer(const struct hl_meta *m, int fd)
{
	const struct hl_writer_options o = {
		.max_events = 128, .keyframe_events = 600, .keyframe_share = 1};
	struct hl_writer *w;

	assert_int_equal(hl_writer_open_with(&w, fd, m, &o), 0);
	add_tables(w);
	return w;
}

static struct hl_writer *open_with_base(enum kind kind, struct hl_heap_sim *sim, int fd)
{
	struct hl_meta late = meta;
	struct hl_writer *early, *w;
	struct hl_event e;

	assert_int_equal(hl_heap_sim_open_early(&early, &meta, &status), 0);
	add_tables(early);
	for (uint32_t i = 0; i < 1000 || sim->moved; i++) {
		hl_heap_sim_next(sim, &e);
		add_event(early, kind, &e, i);
	}
	assert_int_equal(hl_writer_describe_base(early, sim->now_ns,
				 kind == KIND_BASE ? sim->n_live : 0, &late.base),
		0);
	w = open_writer(&late, fd);
	if (kind == KIND_BASE) {
		assert_int_equal(hl_heap_sim_write_base(w, early, sim), 0);
		return w;
	}
	struct hl_base_place place;

	assert_int_equal(hl_writer_begin_base(w, early, &place), 0);
	assert_int_equal(hl_writer_end_base(w), 0);
	hl_writer_close(early);
	return w;
}

/* Keyframes of more than 65,536 rows have several parts. */
static void add_many_stacks(struct hl_writer *w, struct hl_heap_sim *sim)
{
	struct hl_event e;

	for (uint32_t i = 0; i < 140000; i++) {
		const struct hl_node n = {
			.parent = HL_NODE_NONE, .module = HL_MODULE_NONE, .offset = i};

		assert_int_equal(hl_writer_add_node(w, &n), 0);
		sim->now_ns += HL_TIME_UNIT_NS;
		hl_heap_sim_alloc(sim, &e, NODES + i, 8, true);
		assert_int_equal(hl_writer_add_event_sums_only(w, &e), 0);
	}
	assert_int_equal(hl_writer_snapshot(w, &(struct hl_snapshot){.label = "large"}), 0);
}

static void find_ends(struct bytes *b)
{
	uint64_t sync = 0;
	uint32_t version;
	size_t at = HL_FILE_HEADER_LEN;
	struct hl_chunk_header h;

	assert_int_equal(hl_file_header_decode(b->data, &sync, &version), HL_HEADER_GOOD);
	assert_int_equal(hl_vec_push(&b->ends, at), 0);
	while (hl_chunk_header_decode(b->data + at, b->len - at, sync, &h, NULL) == 0) {
		at += h.length;
		assert_int_equal(hl_vec_push(&b->ends, at), 0);
	}
	assert_int_equal(at + HL_TRAILER_LEN, b->len);
}

static struct bytes make_trace(enum kind kind)
{
	const struct hl_end end = {.kind = HL_END_EXIT, .value = 3};
	const struct hl_counters counters = {.late_events = 2};
	int fd = memfd_create("trace", MFD_CLOEXEC), keep = dup(fd);
	struct hl_heap_sim sim;
	struct hl_writer *w;
	struct bytes b = {0};

	assert_true(keep >= 0);
	assert_int_equal(
		hl_heap_sim_init(&sim, 3, NODES, 2, kind == KIND_KEYFRAMES ? 150000 : 300), 0);
	sim.samples = kind == KIND_SAMPLE;
	w = kind == KIND_BASE || kind == KIND_BASE_COUNT ? open_with_base(kind, &sim, fd)
							 : open_writer(&meta, fd);
	if (kind == KIND_KEYFRAMES)
		add_many_stacks(w, &sim);
	else
		add_events(w, kind, &sim);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	b.len = hl_writer_bytes(w);
	hl_writer_close(w);
	hl_heap_sim_fini(&sim);
	b.data = malloc(b.len);
	assert_int_equal(pread(keep, b.data, b.len, 0), b.len);
	close(keep);
	find_ends(&b);
	return b;
}

static void free_trace(struct bytes *b)
{
	free(b->data);
	hl_vec_free(&b->ends);
}

/* --- readers --- */

static void set_length(struct hl_byte_source *s, size_t len, bool growing)
{
	s->bytes = s->data_bytes = len;
	s->growing = growing;
}

static struct hl_reader *open_bytes(
	const struct bytes *b, size_t len, bool growing, struct hl_byte_source **source)
{
	struct hl_reader_refusal why;
	struct hl_reader *r;

	assert_int_equal(hl_byte_source_from_memory(source, b->data, b->len), 0);
	set_length(*source, len, growing);
	assert_int_equal(hl_reader_open_source(&r, *source, "t", &why), 0);
	return r;
}

/* Compares a reader that has grown to this length with a new one. */
static void assert_like_new(
	struct hl_reader *r, const struct bytes *b, size_t len, bool growing, int kind)
{
	struct hl_byte_source *source;
	struct hl_reader *fresh = open_bytes(b, len, growing, &source);
	const char *what = hl_readers_differ(r, fresh);

	if (what)
		fail_msg("kind %d, %zu of %zu bytes: %s differs", kind, len, b->len, what);
	hl_reader_close(fresh);
}

/* Refreshes at lengths `step` apart; 0: at every end of a chunk. `every`: how many refreshes are
 * between two comparisons. */
static void grow(const struct bytes *b, size_t step, unsigned every, int kind)
{
	struct hl_byte_source *source;
	struct hl_reader *r = open_bytes(b, HL_FILE_HEADER_LEN, true, &source);
	size_t len = HL_FILE_HEADER_LEN;
	struct hl_refreshed found;

	for (unsigned i = 0; len < b->len; i++) {
		len = step ? len + step : i < b->ends.len ? b->ends.data[i] : b->len;
		len = len < b->len ? len : b->len;
		set_length(source, len, true);
		assert_int_equal(hl_reader_refresh(r, &found), 0);
		if (i % every == 0)
			assert_like_new(r, b, len, true, kind);
	}
	set_length(source, b->len, false);
	assert_int_equal(hl_reader_refresh(r, &found), 0);
	assert_true(found.changed);
	assert_like_new(r, b, b->len, false, kind);
	assert_int_equal(hl_reader_refresh(r, &found), 0);
	assert_false(found.changed);
	hl_reader_close(r);
}

static void a_grown_reader_equals_a_new_one(void **state)
{
	for (int kind = 0; kind < KINDS; kind++) {
		struct bytes b = make_trace(kind);
		bool is_large = kind == KIND_KEYFRAMES;

		grow(&b, 0, 1, kind);
		grow(&b, 0, 7, kind);
		grow(&b, is_large ? b.len / 60 : 997, is_large ? 1 : 5, kind);
		free_trace(&b);
	}
}

/* A writer that dies leaves a file that may end in the middle of a chunk. */
static void the_end_of_the_writer_equals_a_new_reader(void **state)
{
	for (int kind = 0; kind < KIND_KEYFRAMES; kind++) {
		struct bytes b = make_trace(kind);

		for (size_t len = 500; len < b.len; len += b.len / 23 + 1) {
			struct hl_byte_source *source;
			struct hl_reader *r = open_bytes(&b, len / 2, true, &source);
			const struct hl_trace_info *info;
			struct hl_refreshed found;

			assert_int_equal(hl_reader_info(r, &info), 0);
			assert_false(info->damaged);
			set_length(source, len, false);
			assert_int_equal(hl_reader_refresh(r, &found), 0);
			assert_true(found.changed);
			assert_like_new(r, &b, len, false, kind);
			hl_reader_close(r);
		}
		free_trace(&b);
	}
}

/* Only what is complete is damage: a chunk with a wrong checksum, not one that is not there yet. */
static void damage_equals_that_of_a_new_reader(void **state)
{
	for (int kind = 0; kind < KIND_KEYFRAMES; kind++) {
		struct bytes b = make_trace(kind);

		for (size_t i = 1; i + 1 < b.ends.len; i += 3) {
			size_t at = i % 2 ? b.ends.data[i] + 30 : b.ends.data[i + 1] - 20;

			b.data[at] ^= 1;
			grow(&b, 0, 1, kind);
			b.data[at] ^= 1;
		}
		free_trace(&b);
	}
}

/* Numbers that were asked for once are not computed again from the start. */
static void assert_reads_only_new(enum kind kind)
{
	struct bytes b = make_trace(kind);
	struct hl_byte_source *source;
	struct hl_reader *r = open_bytes(&b, HL_FILE_HEADER_LEN, true, &source);
	const struct hl_trace_info *info;
	struct hl_refreshed found;
	uint32_t n;

	for (size_t i = 0; i < b.ends.len; i++) {
		set_length(source, b.ends.data[i], true);
		assert_int_equal(hl_reader_refresh(r, &found), 0);
		assert_int_equal(hl_reader_info(r, &info), 0);
		assert_int_equal(hl_reader_n_nodes(r, &n), 0);
	}
	/* Headers are read with room for the longest directory, and a keyframe for its totals and
	 * for what was seen before it. */
	assert_true(hl_reader_bytes_read(r) < 10 * b.len);
	assert_true(hl_reader_events_decoded(r) <= EVENTS + 1);
	hl_reader_close(r);
	free_trace(&b);
}

static void a_refresh_reads_only_what_is_new(void **state)
{
	for (int kind = 0; kind < KIND_BASE; kind++)
		assert_reads_only_new(kind);
}

/* --- files --- */

static char dir[] = "/tmp/hl-refresh-XXXXXX";
static char path[128];

static int write_bytes(const struct bytes *b, size_t len)
{
	int fd;

	snprintf(path, sizeof(path), "%s/t.hlt", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->data, len), len);
	return fd;
}

static struct hl_reader *open_path(const char *name)
{
	struct hl_reader_refusal why;
	struct hl_reader *r;

	assert_int_equal(hl_reader_open(&r, name, &why), 0);
	return r;
}

static void the_lock_says_whether_the_writer_is_alive(void **state)
{
	struct bytes b = make_trace(KIND_TRACE);
	int fd = write_bytes(&b, b.ends.data[5]);
	const struct hl_trace_info *info;
	struct hl_refreshed found;
	struct hl_reader *r;

	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	r = open_path(path);
	assert_true(hl_reader_is_running(r));
	assert_int_equal(hl_reader_refresh(r, &found), 0);
	assert_false(found.changed);
	assert_int_equal(write(fd, b.data + b.ends.data[5], 100), 100);
	assert_int_equal(hl_reader_refresh(r, &found), 0);
	assert_false(found.changed); /* not yet */
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->end.kind, HL_END_RUNNING);
	assert_false(info->damaged);
	close(fd); /* the writer dies */
	assert_int_equal(hl_reader_refresh(r, &found), 0);
	assert_true(found.changed);
	assert_false(hl_reader_is_running(r));
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->end.kind, HL_END_LOST);
	assert_true(info->damaged);
	hl_reader_close(r);
	unlink(path);
	free_trace(&b);
}

static bool is_locked(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool locked = flock(fd, LOCK_SH | LOCK_NB) < 0;

	close(fd);
	return locked;
}

/* A viewer that the writer started has its descriptor, and so its lock. */
static void an_inherited_descriptor_keeps_its_lock(void **state)
{
	static const char *const names[] = {"/proc/self/fd/%d", "/dev/fd/%d"};
	struct bytes b = make_trace(KIND_TRACE);
	int fd = write_bytes(&b, b.len);

	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	for (size_t i = 0; i < HL_ARRAY_LEN(names); i++) {
		struct hl_refreshed found;
		struct hl_reader *r;
		char name[64];

		snprintf(name, sizeof(name), names[i], fd);
		r = open_path(name);
		assert_true(hl_reader_is_running(r));
		assert_int_equal(hl_reader_refresh(r, &found), 0);
		assert_true(is_locked());
		hl_reader_close(r);
		assert_true(is_locked());
	}
	close(fd);
	unlink(path);
	free_trace(&b);
}

static void assert_stale(struct hl_reader *r, int err, const char *word)
{
	const struct hl_trace_info *info;
	struct hl_refreshed found;

	assert_int_equal(hl_reader_refresh(r, &found), err);
	assert_non_null(strstr(hl_reader_error(r), word));
	/* The data from before the refresh stays readable. */
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_true(hl_reader_n_chunks(r) > 0);
	assert_int_equal(hl_reader_refresh(r, &found), err);
}

static void a_file_that_is_gone_is_an_error(void **state)
{
	struct bytes b = make_trace(KIND_TRACE), other = make_trace(KIND_COUNT);
	const struct hl_trace_info *info;
	struct hl_refreshed found;
	struct hl_reader *r;
	char moved[160];
	int fd;

	snprintf(moved, sizeof(moved), "%s/moved", dir);
	for (int locked = 0; locked < 2; locked++) {
		fd = write_bytes(&b, b.ends.data[8]);
		assert_int_equal(locked ? flock(fd, LOCK_EX | LOCK_NB) : 0, 0);
		r = open_path(path);
		assert_int_equal(hl_reader_info(r, &info), 0);
		assert_int_equal(rename(path, moved), 0);
		assert_stale(r, -ENOENT, "deleted");
		close(write_bytes(&other, other.len));
		assert_stale(r, -ESTALE, "replaced");
		assert_int_equal(rename(moved, path), 0);
		assert_int_equal(hl_reader_refresh(r, &found), 0);
		assert_int_equal(ftruncate(fd, (off_t)b.ends.data[2]), 0);
		assert_stale(r, -ESTALE, "truncated");
		/* The writer goes on where it was. */
		assert_int_equal(pwrite(fd, "x", 1, (off_t)b.len), 1);
		assert_stale(r, -ESTALE, "truncated or overwritten");
		/* The same inode with another trace that is longer. */
		assert_int_equal(pwrite(fd, other.data, other.len, 0), other.len);
		assert_int_equal(ftruncate(fd, (off_t)(b.len + other.len)), 0);
		assert_stale(r, -ESTALE, "overwritten");
		hl_reader_close(r);
		close(fd);
		unlink(path);
	}
	free_trace(&b);
	free_trace(&other);
}

static void a_rewritten_header_is_read_again(void **state)
{
	const struct hl_unwritten full = {.error = ENOSPC, .events = 77};
	struct bytes b = make_trace(KIND_TRACE);
	int fd = write_bytes(&b, b.ends.data[8]);
	uint8_t head[HL_FILE_HEADER_LEN];
	const struct hl_trace_info *info;
	struct hl_refreshed found;
	struct hl_reader *r;

	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	r = open_path(path);
	hl_file_header_encode(head, hl_get64(b.data + 16), &full);
	assert_int_equal(pwrite(fd, head, 20, 0), 20); /* halfway: not damage */
	head[40] ^= 1;
	assert_int_equal(pwrite(fd, head + 20, 44, 20), 44);
	assert_int_equal(hl_reader_refresh(r, &found), 0);
	assert_false(found.changed);
	head[40] ^= 1;
	assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(hl_reader_refresh(r, &found), 0);
	assert_true(found.changed);
	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_int_equal(info->unwritten.error, ENOSPC);
	assert_int_equal(info->unwritten.events, 77);
	assert_false(info->damaged);
	hl_reader_close(r);
	close(fd);
	unlink(path);
	free_trace(&b);
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
		cmocka_unit_test(a_grown_reader_equals_a_new_one),
		cmocka_unit_test(the_end_of_the_writer_equals_a_new_reader),
		cmocka_unit_test(damage_equals_that_of_a_new_reader),
		cmocka_unit_test(a_refresh_reads_only_what_is_new),
		cmocka_unit_test(the_lock_says_whether_the_writer_is_alive),
		cmocka_unit_test(an_inherited_descriptor_keeps_its_lock),
		cmocka_unit_test(a_file_that_is_gone_is_an_error),
		cmocka_unit_test(a_rewritten_header_is_read_again),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
