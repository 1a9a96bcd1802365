/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bombs.c - writes files of at most 1 MiB that try to make a reader use much memory: tables, live
 * sets and samples that decompress to a thousand times their size, and counts and ids without any
 * data behind them.
 *
 * usage: bombs DIRECTORY; writes DIRECTORY/NAME.hlt. All checksums are valid.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fuzz/fuzz.h"
#include "base/attr.h"
#include "base/varint.h"
#include "sample.h"

#define MIB           (1u << 20)
#define SPREAD_CHUNKS 30u

static uint8_t zeros[MIB], ones[MIB];
static struct fuzz_trace t;

static size_t put_varints(uint8_t *to, const uint64_t *values, size_t n)
{
	uint8_t *p = to;

	for (size_t i = 0; i < n; i++)
		p = hl_varint_put(p, values[i]);
	return (size_t)(p - to);
}

static void add_table(const uint64_t v[6], const uint8_t *modules, size_t modules_len)
{
	uint8_t buf[64];
	const struct fuzz_column columns[] = {{HL_COL_NUMBERS, buf, put_varints(buf, v, 6)},
		{HL_COL_MODULES, modules, modules_len}, {HL_COL_NODE_PARENT, zeros, v[3]},
		{HL_COL_NODE_MODULE, zeros, v[3]}, {HL_COL_NODE_OFFSET, zeros, v[3]},
		{HL_COL_THREADS, ones, v[5]}};
	struct hl_chunk_header head = {.type = HL_CHUNK_TABLE};

	fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
}

/* END with totals that claim a live block for each node. */
static void add_end(uint64_t nodes)
{
	uint64_t v[31] = {nodes, nodes * 100};
	uint8_t buf[300];
	const struct fuzz_column column = {HL_COL_NUMBERS, buf, put_varints(buf, v, 31)};
	struct hl_chunk_header head = {.type = HL_CHUNK_END};

	fuzz_trace_chunk(&t, &head, &column, 1, true);
}

static void nodes_without_end(void)
{
	for (uint64_t first = 0; first < HL_NODES_MAX; first += 340000)
		add_table((uint64_t[]){0, 0, first, 340000, 0, 0}, zeros, 0);
	add_end(0);
}

/* The maximum of nodes for a file of this size, all of them in a keyframe; padded to the size. */
static void nodes_up_to_the_limit(void)
{
	uint32_t limit = hl_nodes_limit(MIB - 65536), rows = 60000, parts = limit / rows + 1;
	struct hl_chunk_header head = {.type = HL_CHUNK_KEYFRAME, .flags = HL_CHUNK_FULL};
	uint64_t v[23] = {limit, limit, 0, 0, 0, 0, limit, limit};
	uint8_t buf[300];
	size_t len = put_varints(buf, v, 23);

	for (uint32_t i = 0; i < limit; i += 300000) {
		uint32_t n = limit - i < 300000 ? limit - i : 300000;

		add_table((uint64_t[]){0, 0, i, n, i ? 1 : 0, i ? 0 : 1}, zeros, 0);
	}
	for (uint32_t i = 0, node = 0; i < parts; i++) {
		uint8_t first[16];
		size_t at = put_varints(first, (uint64_t[]){node}, 1);
		static uint8_t ids[MIB];
		uint32_t n = limit - node < rows ? limit - node : rows;
		const struct fuzz_column columns[] = {{HL_COL_KEY_NODE, ids, at + n - 1},
			{HL_COL_KEY_ALLOC_BLOCKS, ones, n}, {HL_COL_KEY_ALLOC_BYTES, ones, n},
			{HL_COL_KEY_LIVE_BLOCKS, ones, n}, {HL_COL_KEY_LIVE_BYTES, ones, n},
			{HL_COL_KEY_PEAK_BLOCKS, zeros, n}, {HL_COL_KEY_PEAK_BYTES, zeros, n},
			{HL_COL_NUMBERS, buf, len}};

		memcpy(ids, first, at);
		memset(ids + at, 1, n);
		head.n_rows = n;
		head.aux = i | (uint64_t)parts << 32;
		fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns) - (i > 0), true);
		node += n;
	}
	add_end(limit);
	head = (struct hl_chunk_header){.type = 99}; /* a reader skips unknown chunk types */
	fuzz_trace_chunk(&t, &head, &(struct fuzz_column){1, zeros, MIB - t.len - 4096}, 1, false);
}

static void nodes_after_a_hole(void)
{
	add_table((uint64_t[]){0, 0, HL_NODES_MAX - 1, 1, HL_THREADS_MAX - 1, 1}, zeros, 0);
	add_end(1);
}

static void counts_of_heads(void)
{
	struct hl_chunk_header head = {.type = HL_CHUNK_EVENTS,
		.n_events = HL_CHUNK_EVENTS_MAX,
		.n_rows = HL_CHUNK_EXTRAS_MAX,
		.aux = HL_NODES_MAX | (uint64_t)HL_THREADS_MAX << 32};

	for (int i = 0; i < 2000; i++)
		fuzz_trace_chunk(&t, &head, NULL, 0, false);
}

static void threads(void)
{
	for (uint64_t first = 0; first < HL_THREADS_MAX; first += 1000000)
		add_table((uint64_t[]){0, 0, 0, 0, first, 1000000}, zeros, 0);
	add_end(0);
}

static void module_names(void)
{
	static uint8_t name[MIB];
	size_t len = MIB - 64, at = put_varints(name, (uint64_t[]){len - 8}, 1);

	memset(name + at, 'a', len - 8);
	for (uint64_t i = 0; i < 600; i++)
		add_table((uint64_t[]){i, 1, 0, 0, 0, 0}, name, at + len - 8 + 1);
	add_end(0);
}

static void modules(void)
{
	for (uint64_t first = 0; first < HL_MODULES_MAX; first += 500000)
		add_table((uint64_t[]){first, 500000, 0, 0, 0, 0}, zeros, 1000000);
	add_end(0);
}

static void live_sets(void)
{
	struct hl_chunk_header head = {.type = HL_CHUNK_LIVESET, .n_rows = 65536};
	struct fuzz_column columns[6];
	const uint32_t parts = 2000;

	for (uint16_t i = 0; i < 6; i++)
		columns[i] = (struct fuzz_column){
			(uint16_t)(HL_COL_LIVE_ADDR + i), i == 0 || i == 3 ? ones : zeros, 65536};
	add_table((uint64_t[]){0, 0, 0, 1, 0, 1}, zeros, 0);
	for (uint32_t i = 0; i < parts; i++) {
		head.aux = i | (uint64_t)parts << 32;
		fuzz_trace_chunk(&t, &head, columns, 6, true);
	}
	add_end(0);
}

static void samples(void)
{
	const struct fuzz_column columns[] = {
		{HL_COL_RSS_TIME, ones, 65536}, {HL_COL_RSS_BYTES, zeros, 65536}};
	struct hl_chunk_header head = {.type = HL_CHUNK_RSS, .n_rows = 65536};

	for (int i = 0; i < 2000; i++)
		fuzz_trace_chunk(&t, &head, columns, 2, true);
	add_end(0);
}

/*
 * Alternating allocations and frees: the number of live blocks is bounded, the number of events is
 * not.
 */
/* As many mappings as the file may have, each in a row that packs to nothing; and samples that are
 * copies of it but for one mapping. */
static void mappings(void)
{
	static uint8_t rows[MIB];
	uint64_t parts = 3, seq = 0;
	uint8_t numbers[64], gone[2 * 10];
	size_t n_rows = 65000, len = n_rows * 12;

	for (size_t i = 0; i < n_rows; i++) { /* new; no gap, one page */
		rows[i * 12] = 2;
		rows[i * 12 + 2] = 1;
	}
	for (uint64_t part = 0; part < parts; part++) {
		const struct fuzz_column columns[] = {
			{HL_COL_NUMBERS, numbers,
				put_varints(numbers, (uint64_t[]){0, 0, parts * n_rows}, 3)},
			{HL_COL_MAP_ROWS, rows, len}};
		struct hl_chunk_header head = {.type = HL_CHUNK_MAPS,
			.flags = HL_CHUNK_FULL,
			.n_rows = (uint32_t)n_rows,
			.aux = part | parts << 32};

		fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
	}
	for (uint64_t i = 1; t.len < MIB - 1000; i++) {
		const struct fuzz_column columns[] = {
			{HL_COL_NUMBERS, numbers,
				put_varints(numbers, (uint64_t[]){i, 0, parts * n_rows - i}, 3)},
			{HL_COL_MAP_ROWS, gone, put_varints(gone, (uint64_t[]){i << 2}, 1)}};
		struct hl_chunk_header head = {.type = HL_CHUNK_MAPS,
			.n_rows = 1,
			.aux = UINT64_C(1) << 32,
			.link = i == 1 ? seq : seq + parts + i - 2};

		fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
	}
}

static void events(void)
{
	static uint8_t ops[8192], same[32768]; /* same: the address of the previous block */
	const uint8_t run[] = {0, 0x80, 0x80, 4}, half[] = {0, 0x80, 0x80, 2};
	const struct fuzz_column columns[] = {{HL_COL_OP, ops, 8192}, {HL_COL_TIME, run, 4},
		{HL_COL_THREAD, run, 4}, {HL_COL_NODE, zeros, 32768}, {HL_COL_SIZE, ones, 32768},
		{HL_COL_AFUNC, half, 4}, {HL_COL_ADDR, same, 32768}, {HL_COL_REF, zeros, 32768},
		{HL_COL_FFUNC, half, 4}};
	struct hl_chunk_header head = {
		.type = HL_CHUNK_EVENTS, .n_events = 65536, .aux = 1 | UINT64_C(1) << 32};

	memset(ops, 0xaa, sizeof(ops));
	memset(same, 2, sizeof(same));
	add_table((uint64_t[]){0, 0, 0, 1, 0, 1}, zeros, 0);
	for (uint64_t i = 0; i < 30; i++) {
		head.first_event = i * 65536;
		head.first_ordinal = i * 32768;
		fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
	}
}

/* Allocations that are never freed; `honest`: the headers count them correctly. */
static void never_freed(uint64_t chunks, bool honest)
{
	static uint8_t ops[8192], next[65536]; /* next: the address after the previous block */
	const uint8_t run[] = {0, 0x80, 0x80, 4};
	const struct fuzz_column columns[] = {{HL_COL_OP, ops, 8192}, {HL_COL_TIME, run, 4},
		{HL_COL_THREAD, run, 4}, {HL_COL_NODE, zeros, 65536}, {HL_COL_SIZE, ones, 65536},
		{HL_COL_AFUNC, run, 4}, {HL_COL_ADDR, next, 65536}};
	struct hl_chunk_header head = {
		.type = HL_CHUNK_EVENTS, .n_events = 65536, .aux = 1 | UINT64_C(1) << 32};

	memset(ops, 0, sizeof(ops));
	memset(next, 4, sizeof(next));
	add_table((uint64_t[]){0, 0, 0, 1, 0, 1}, zeros, 0);
	for (uint64_t i = 0; i < chunks; i++) {
		head.first_event = head.first_ordinal = i * 65536;
		head.live_blocks = head.live_bytes = honest ? i * 65536 : 0;
		head.max_live_bytes = head.live_bytes + 65536;
		fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
	}
}

static void many_live(void)
{
	never_freed(60, true);
}

static void too_many_live(void)
{
	never_freed(200, false);
}

/*
 * More live blocks than are processed at once, from every chunk in every address range: 32 bytes
 * apart.
 */
static void spread_live(void)
{
	static uint8_t ops[8192], addrs[2 * 65536 + 1];
	const uint8_t run[] = {0, 0x80, 0x80, 4};
	struct hl_chunk_header head = {
		.type = HL_CHUNK_EVENTS, .n_events = 65536, .aux = 1 | UINT64_C(1) << 32};

	memset(ops, 0, sizeof(ops));
	add_table((uint64_t[]){0, 0, 0, 1, 0, 1}, zeros, 0);
	for (uint64_t i = 0; i < SPREAD_CHUNKS; i++) {
		/* units of 16 bytes, zigzag, and two codes are reserved */
		size_t len = put_varints(addrs, (uint64_t[]){2 * 2 * (i + 1) + 2}, 1);
		const struct fuzz_column columns[] = {{HL_COL_OP, ops, 8192}, {HL_COL_TIME, run, 4},
			{HL_COL_THREAD, run, 4}, {HL_COL_NODE, zeros, 65536},
			{HL_COL_SIZE, ones, 65536}, {HL_COL_AFUNC, run, 4},
			{HL_COL_ADDR, addrs, len + 65535}};

		memset(addrs + len, 2 * 2 * SPREAD_CHUNKS + 2, 65535);
		head.first_event = head.first_ordinal = i * 65536;
		head.live_blocks = head.live_bytes = i * 65536;
		head.max_live_bytes = head.live_bytes + 65536;
		fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
	}
}

/* `each` marks or snapshots in each chunk, after the maximum of events. */
static void marks(uint8_t kind, uint32_t each, uint64_t chunks)
{
	static uint8_t ops[8192], next[65536], extras[10 * 65536];
	const uint8_t run[] = {0, 0x80, 0x80, 4};
	const struct fuzz_column columns[] = {{HL_COL_OP, ops, 8192}, {HL_COL_TIME, run, 4},
		{HL_COL_THREAD, run, 4}, {HL_COL_NODE, zeros, 65536}, {HL_COL_SIZE, ones, 65536},
		{HL_COL_AFUNC, run, 4}, {HL_COL_ADDR, next, 65536},
		{HL_COL_EXTRA, extras, 10 * each}};
	struct hl_chunk_header head = {.type = HL_CHUNK_EVENTS,
		.n_events = 65536,
		.n_rows = each,
		.aux = 1 | UINT64_C(1) << 32};

	memset(ops, 0, sizeof(ops));
	memset(next, 4, sizeof(next));
	memset(extras, 0, sizeof(extras));
	for (size_t i = 0; i < 65536; i++) {
		extras[10 * i] = i > 0; /* one event further each */
		extras[10 * i + 1] = kind;
	}
	add_table((uint64_t[]){0, 0, 0, 1, 0, 1}, zeros, 0);
	for (uint64_t i = 0; i < chunks; i++) {
		head.first_event = head.first_ordinal = i * 65536;
		head.live_blocks = head.live_bytes = i * 65536;
		head.max_live_bytes = head.live_bytes + 65536;
		fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
	}
}

static void some_snapshots(void)
{
	marks(HL_EXTRA_SNAPSHOT, 65536, 1);
}

/* Far apart, with nothing but events between them. */
static void snapshots_apart(void)
{
	marks(HL_EXTRA_SNAPSHOT, 1, 500);
}

static void many_marks(void)
{
	marks(HL_EXTRA_MARK, 65536, 40);
}

/* More live blocks than were ever allocated: no checksum is wrong. */
static void contradiction(void)
{
	static const uint8_t one[] = {1}, five[] = {5};
	const struct fuzz_column columns[] = {{HL_COL_KEY_NODE, zeros, 1},
		{HL_COL_KEY_ALLOC_BLOCKS, one, 1}, {HL_COL_KEY_ALLOC_BYTES, one, 1},
		{HL_COL_KEY_LIVE_BLOCKS, five, 1}, {HL_COL_KEY_LIVE_BYTES, five, 1},
		{HL_COL_KEY_PEAK_BLOCKS, zeros, 1}, {HL_COL_KEY_PEAK_BYTES, zeros, 1},
		{HL_COL_NUMBERS, zeros, 25}};
	struct hl_chunk_header head = {.type = HL_CHUNK_KEYFRAME,
		.flags = HL_CHUNK_FULL,
		.n_rows = 1,
		.aux = UINT64_C(1) << 32};

	add_table((uint64_t[]){0, 0, 0, 1, 0, 1}, zeros, 0);
	fuzz_trace_chunk(&t, &head, columns, HL_ARRAY_LEN(columns), true);
	add_end(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
		bool sparse; /* a hole follows, whose size must not count */
	} bombs[] = {{"nodes", nodes_without_end, false},
		{"nodes-limit", nodes_up_to_the_limit, false}, {"hole", nodes_after_a_hole, false},
		{"heads", counts_of_heads, false}, {"threads", threads, false},
		{"names", module_names, false}, {"modules", modules, false},
		{"live-sets", live_sets, false}, {"samples", samples, false},
		{"mappings", mappings, false}, {"events", events, false},
		{"nodes-sparse", nodes_without_end, true},
		{"hole-sparse", nodes_after_a_hole, true}, {"heads-sparse", counts_of_heads, true},
		{"live-sets-sparse", live_sets, true}, {"many-live", many_live, false},
		{"too-many-live", too_many_live, false}, {"contradiction", contradiction, false},
		{"marks", many_marks, false}, {"snapshots", some_snapshots, false},
		{"snapshots-apart", snapshots_apart, false}, {"spread-live", spread_live, false}};

	memset(ones, 1, sizeof(ones));
	for (size_t i = 0; argc == 2 && i < HL_ARRAY_LEN(bombs); i++) {
		char path[512];
		FILE *f;

		fuzz_trace_begin(&t);
		bombs[i].make();
		snprintf(path, sizeof(path), "%s/%s.hlt", argv[1], bombs[i].name);
		f = fopen(path, "wb");
		if (!f || fwrite(t.data, 1, t.len, f) != t.len || fflush(f) ||
			(bombs[i].sparse && ftruncate(fileno(f), (off_t)1 << 32)) || fclose(f) ||
			t.len > MIB) {
			fprintf(stderr, "%s: %zu bytes\n", path, t.len);
			return 1;
		}
	}
	return argc != 2;
}
