/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - see sample.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sample.h"
#include "trace/format/crc32c.h"
#include "trace/heap_sim_base.h"

#define NODES  120
#define EVENTS 560

static int add_plain(struct hl_writer *w, struct hl_heap_sim *sim)
{
	const struct hl_extra mark = {.kind = HL_EXTRA_MARK, .node = HL_NODE_NONE, .text = "here"};
	int err = 0;

	for (int i = 0; i < EVENTS && !err; i++) {
		struct hl_event e;
		struct hl_rss_sample s = {(uint64_t)i * 6400, 1u << 20};

		if (i == EVENTS / 2) /* from here on few nodes change: so there are difference
					keyframes */
			sim->nodes = 8;
		hl_heap_sim_next(sim, &e);
		err = hl_writer_add_event(w, &e);
		if (i % 100 == 50 && !err)
			err = hl_writer_add_extra(w, &mark);
		if (i % 50 == 0 && !err)
			err = hl_writer_add_rss(w, &s);
		if (i == EVENTS / 2 && !err) {
			struct hl_live_block b[3] = {
				{.addr = 16, .size = 1, .alloc_ns = 64}, {.addr = 64}};
			err = hl_writer_add_live_set(w, b, 3);
		}
	}
	return err;
}

/* The same with aggregated blocks, snapshots, and late events. */
static int add_counted(struct hl_writer *w, struct hl_heap_sim *sim)
{
	uint64_t late = 0;
	int err = 0;

	for (int i = 0; i < EVENTS && !err; i++) {
		const struct hl_snapshot s = {.cause = (uint32_t)i % HL_SNAPSHOT_CAUSE_COUNT,
			.threshold = 7,
			.label = i % 200 ? "one" : NULL};
		struct hl_event e;

		hl_heap_sim_next(sim, &e);
		err = hl_writer_add_event_sums_only(w, &e);
		if (i % 9 == 0 && e.op == HL_OP_ALLOC && !err) {
			e.ordinal = late++;
			err = hl_writer_add_event_columns_only(w, &e);
		}
		if (i % 50 == 40 && !(e.op == HL_OP_FREE && e.flags & HL_EVENT_MOVED) && !err)
			err = hl_writer_snapshot(w, &s);
	}
	return err;
}

/* A block of a pool in each round of events; sometimes its allocation and free are split pairs. */
static int add_pooled(struct hl_writer *w, uint64_t i, uint64_t time_ns)
{
	struct hl_extra x = {
		.kind = HL_EXTRA_POOL, .time_ns = time_ns, .node = HL_NODE_NONE, .text = "arena"};
	int err = i ? 0 : hl_writer_add_extra(w, &x);

	x = (struct hl_extra){.kind = HL_EXTRA_POOL_ALLOC,
		.time_ns = time_ns,
		.addr = 64 * i,
		.size = i,
		.value2 = i,
		.node = (uint32_t)i % NODES};
	if (!err)
		err = hl_writer_add_extra(w, &x);
	x.kind = HL_EXTRA_POOL_FREE;
	x.value = i % 4 ? 0 : HL_POOL_PARTED;
	return err || i % 3 ? err : hl_writer_add_extra(w, &x);
}

static int add_names(struct hl_writer *w)
{
	const struct hl_name_frame frames[] = {{.function = "outer", .file = "a.c", .line = 7},
		{.function = "std::vector<int>::inner", .line = 8, .inlined = true},
		{.file = "b.c"}};
	int err = 0;

	for (uint32_t i = 0; i < 20 && !err; i++) {
		const struct hl_named_site site = {.module = i % 5 ? 0 : HL_MODULE_NONE,
			.offset = i * 100,
			.frames = frames,
			.n_frames = i % 4};

		err = hl_writer_add_names(w, &site);
	}
	return err;
}

static int add_file(struct hl_writer *w)
{
	static const char data[3000] = "\x7f"
				       "ELF";
	const struct hl_embedded_file file = {.kind = HL_EMBEDDED_DEBUG,
		.path = "/usr/lib/debug/a.debug",
		.build_id = (const uint8_t *)"id",
		.build_id_len = 2,
		.size = sizeof(data)};
	int err, fd = memfd_create("carried", 0);

	if (fd < 0 || pwrite(fd, data, sizeof(data), 0) != (ssize_t)sizeof(data))
		exit(1);
	err = hl_writer_add_file(w, &file, fd);
	close(fd);
	return err;
}

static int add_embedded(struct hl_writer *w, struct hl_heap_sim *sim)
{
	const struct hl_left_out left = {10, 1000, 3, 64};
	uint64_t last = UINT64_MAX;
	int err = add_names(w);

	for (uint64_t i = 0; i < EVENTS / 4 && !err; i++) {
		struct hl_event e;

		hl_heap_sim_next(sim, &e);
		if (e.op == HL_OP_FREE && last == e.ordinal)
			e.flags |= HL_EVENT_SPLIT;
		if (e.op == HL_OP_ALLOC && !(e.flags & HL_EVENT_MOVED) && e.ordinal % 7 == 1) {
			e.flags |= HL_EVENT_LINKED;
			e.realloc_of = e.ordinal / 2;
		} else if (e.op == HL_OP_FREE && !(e.flags & HL_EVENT_MOVED) && i % 5 == 0) {
			e.flags |= HL_EVENT_LINKED;
		}
		last = e.op == HL_OP_ALLOC ? e.ordinal : UINT64_MAX;
		err = hl_writer_add_event(w, &e);
		if (!err && !(e.op == HL_OP_FREE && e.flags & HL_EVENT_MOVED))
			err = add_pooled(w, i, e.time_ns);
	}
	hl_writer_set_left_out(w, &left);
	return err ? err : add_file(w);
}

/* The second half of a run, after its base. */
static int add_late(struct hl_writer *w, struct hl_heap_sim *sim)
{
	struct hl_live_block *b = calloc(sim->cap, sizeof(*b));
	int err = b ? 0 : -1;

	for (int i = 0; i < EVENTS / 2 && !err; i++) {
		struct hl_event e;
		struct hl_rss_sample s = {(uint64_t)i * 6400, 1u << 20};

		hl_heap_sim_next(sim, &e);
		err = hl_writer_add_event(w, &e);
		if (i % 50 == 0 && !err)
			err = hl_writer_add_rss(w, &s);
	}
	for (size_t i = 0; i < sim->n_live && !err; i++)
		b[i] = (struct hl_live_block){.addr = sim->live[i].addr,
			.ordinal = sim->live[i].ordinal,
			.node = sim->live[i].node,
			.blocks = 1};
	if (!err)
		err = hl_writer_add_live_set(w, b, sim->n_live);
	free(b);
	return err;
}

/* Samples of mappings: one grows, one is gone and comes again, with another name. */
static int add_mapped(struct hl_writer *w, struct hl_heap_sim *sim)
{
	int err = add_plain(w, sim);

	for (uint64_t i = 0; i < 8 && !err; i++) {
		struct hl_map_entry maps[] = {
			{.start = 0x1000, .end = 0x3000, .offset = 0x1000, .name = "/bin/p"},
			{.start = 0x8000, .end = (9 + i) << 12, .name = "[heap]", .perms = 3},
			{.start = 0x90000, .end = 0x91000, .name = i < 5 ? "" : "/lib/x (deleted)"},
			{.start = 0x7f0000000000, .end = 0x7f0000004000, .name = "", .perms = 11},
		};
		struct hl_map_sample s = {.time_ns = i * 6400, .maps = maps, .n = 4};

		maps[1].kib[HL_MAP_PRIVATE_DIRTY] = maps[1].kib[HL_MAP_ANONYMOUS] = 4 * i;
		maps[3].kib[HL_MAP_SWAP] = i / 3;
		if (i % 4 == 2) {
			s.n = 3;
			maps[2] = maps[3];
		}
		err = hl_writer_add_maps(w, &s);
	}
	return err;
}

enum kind { PLAIN, COUNTED, CARRYING, LATE, MAPPED };

static int add_kind(enum kind kind, struct hl_writer *w, struct hl_heap_sim *sim)
{
	return kind == LATE       ? add_late(w, sim)
	       : kind == COUNTED  ? add_counted(w, sim)
	       : kind == CARRYING ? add_embedded(w, sim)
	       : kind == MAPPED   ? add_mapped(w, sim)
				  : add_plain(w, sim);
}

static int add_tables(struct hl_writer *w, uint32_t from, uint32_t to)
{
	const struct hl_module m = {
		.path = "/lib/a.so", .build_id = (const uint8_t *)"id", .build_id_len = 2};
	int err = hl_writer_add_module(w, &m);

	for (uint32_t i = from; i < to && !err; i++) {
		struct hl_node n = {.parent = i ? i / 2 : HL_NODE_NONE, .offset = i * 100};
		err = hl_writer_add_node(w, &n);
	}
	if (!err && from == 0)
		return hl_writer_add_thread(w, 77);
	if (!err)
		err = hl_writer_add_tag(w, HL_TAG_NONE, "outer", 5);
	if (!err)
		err = hl_writer_add_tag(w, 0, "inner", 5);
	return err ? err : hl_writer_add_role(w, 0, 1);
}

/* Adds the first half of a run to a writer of its own, and describes the base. */
static struct hl_writer *add_early(struct hl_meta *meta, struct hl_heap_sim *sim)
{
	static struct hl_file_status status;
	struct hl_writer *early;
	struct hl_event e;
	int err = hl_heap_sim_open_early(&early, meta, &status);

	if (!err)
		err = add_tables(early, 0, NODES);
	if (!err)
		err = add_tables(early, NODES, NODES + 2);
	for (int i = 0; (i < EVENTS / 2 || sim->moved) && !err; i++) {
		hl_heap_sim_next(sim, &e);
		err = hl_writer_add_event(early, &e);
	}
	if (err || hl_writer_describe_base(early, 0, sim->n_live, &meta->base) < 0)
		exit(1);
	return early;
}

static uint8_t *make(bool hurry, enum kind kind, size_t *size)
{
	const struct hl_writer_options o = {.max_events = 60,
		.keyframe_events = 50,
		.keyframe_share = 1,
		.summary_share = 1,
		.sync = SAMPLE_SYNC};
	struct hl_meta meta = {.program = "/usr/bin/prog",
		.command = "prog",
		.command_len = 5,
		.arch = "x86_64",
		.clock = "tsc",
		.mode = "trace",
		.allocator = ""};
	const struct hl_end end = {.kind = HL_END_EXIT, .duration_ns = 1 << 20};
	const struct hl_counters counters = {0};
	struct hl_writer *w, *early = NULL;
	struct hl_heap_sim sim;
	uint8_t *file;
	int err, fd = memfd_create("sample", 0);

	if (kind == CARRYING) {
		meta.source = "another tool";
		meta.unknown = HL_UNKNOWN_TIMES;
		meta.slice = (struct hl_slice_info){
			HL_SLICE_RANGE | HL_SLICE_FILTER, 64, 1 << 20, 0, "size:>1"};
	}
	if (hl_heap_sim_init(&sim, 5, NODES, 2, 40) < 0)
		exit(1);
	if (kind == LATE)
		early = add_early(&meta, &sim);
	err = hl_writer_open_with(&w, dup(fd), &meta, &o);
	if (err)
		exit(1);
	hl_writer_set_uncompressed(w, hurry);
	err = add_tables(w, 0, NODES);
	if (!err)
		err = add_tables(w, NODES, NODES + 2);
	if (!err && early)
		err = hl_heap_sim_write_base(w, early, &sim);
	if (!err)
		err = add_kind(kind, w, &sim);
	if (!err)
		err = hl_writer_end(w, &end, &counters);
	*size = hl_writer_bytes(w);
	hl_writer_close(w);
	hl_heap_sim_fini(&sim);
	file = malloc(*size);
	if (err || !file || pread(fd, file, *size, 0) != (ssize_t)*size)
		exit(1);
	close(fd);
	return file;
}

uint8_t *sample_make(bool hurry, size_t *size)
{
	return make(hurry, PLAIN, size);
}

uint8_t *sample_make_counted(bool hurry, size_t *size)
{
	return make(hurry, COUNTED, size);
}

uint8_t *sample_make_carrying(bool hurry, size_t *size)
{
	return make(hurry, CARRYING, size);
}

uint8_t *sample_make_mapped(bool hurry, size_t *size)
{
	return make(hurry, MAPPED, size);
}

uint8_t *sample_make_late(bool hurry, size_t *size)
{
	return make(hurry, LATE, size);
}

size_t sample_places(const uint8_t *file, size_t size, struct sample_place *places)
{
	size_t n = 0;

	for (size_t at = HL_FILE_HEADER_LEN; n < SAMPLE_PLACES_MAX && at < size; n++) {
		places[n].at = at;
		if (hl_chunk_header_decode(
			    file + at, size - at, hl_get64(file + 16), &places[n].head, NULL) < 0 ||
			places[n].head.length > size - at)
			break;
		at += places[n].head.length;
	}
	return n;
}

void sample_forge(uint8_t *chunk, size_t len)
{
	uint32_t n, crc;
	static const uint8_t zero[4];
	size_t heads, at;

	if (len < HL_CHUNK_HEADER_LEN)
		return;
	n = hl_get32(chunk + 28);
	heads = at = HL_CHUNK_HEADER_LEN + (size_t)n * HL_COLUMN_ENTRY_LEN;
	if (n > HL_COLUMNS_MAX || heads > len)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *c = chunk + HL_CHUNK_HEADER_LEN + i * HL_COLUMN_ENTRY_LEN;
		uint32_t packed = hl_get32(c + 8);

		if (packed > len - at)
			break;
		hl_put32(c + 12, hl_crc32c(0, chunk + at, packed));
		at += packed;
	}
	crc = hl_crc32c(0, chunk, 12);
	crc = hl_crc32c(crc, zero, 4);
	hl_put32(chunk + 12, hl_crc32c(crc, chunk + 16, heads - 16));
}
