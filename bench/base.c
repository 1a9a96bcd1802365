/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.c - what the base of a trace that begins late costs: the copy of the live table, during
 * which the collector drains no ring, and the work that another thread can do with the copy.
 *
 * usage: base BLOCKS [NODES]; times are CPU time of this thread.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/match/live_table.h"
#include "trace/write/writer.h"
#include "util/radix_sort.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what)
{
	fprintf(stderr, "base: %s failed\n", what);
	exit(1);
}

/* Two allocations for each live block; a random one of the live blocks is freed. */
static struct hl_live_table fill_table(struct hl_writer *w, uint64_t n, uint32_t nodes)
{
	struct hl_live_table l;
	uint64_t *addrs = malloc(n * sizeof(*addrs)), brk = UINT64_C(0x5581a0000000);

	if (!addrs || hl_live_init(&l, SIZE_MAX, -1) < 0)
		die("memory");
	for (uint64_t i = 0; i < 2 * n; i++) {
		uint64_t r = hl_hash_u64(i + 1), size = 8 + (r & 255), at = i < n ? i : r % n;
		struct hl_event event = {.time_ns = i * 128,
			.ordinal = i,
			.size = size,
			.node = (uint32_t)((r >> 8 & 4095) * (r >> 20 & 4095) % nodes),
			.free_node = HL_NODE_NONE};
		struct hl_live_entry old, *e;

		if (i >= n && hl_live_remove(&l, addrs[at], &old)) {
			struct hl_event freed = {.op = HL_OP_FREE,
				.time_ns = event.time_ns,
				.addr = old.addr,
				.ordinal = hl_live_ordinal(&old),
				.size = hl_live_size(&old),
				.node = hl_live_node(&old),
				.free_node = HL_NODE_NONE};

			hl_writer_add_event(w, &freed);
			addrs[at] = old.addr; /* the address is used again */
		} else {
			addrs[at] = brk += (size + 24) & ~UINT64_C(15);
		}
		event.addr = addrs[at];
		if (hl_writer_add_event(w, &event) < 0)
			die("adding an event");
		e = hl_live_insert(&l, event.addr);
		if (!e)
			die("memory");
		e->ordinal_thread = i << 24;
		e->size_time = size << 16 | (i * 2) >> 32;
		e->time_node = (i * 2) << 32 | event.node;
	}
	free(addrs);
	return l;
}

struct copy {
	struct hl_live_entry *entries;
	size_t n;
};

static void copy_entry(void *arg, const struct hl_live_entry *e)
{
	struct copy *c = arg;

	c->entries[c->n++] = *e;
}

/* Entries of the pool are contiguous, so segments can be copied without looking at them. touched:
 * another thread has touched the memory of the copy before. */
static double copy_segments(const struct hl_live_table *l, bool touched)
{
	size_t bytes = (size_t)l->pool.n_used * sizeof(struct hl_live_entry), at = 0;
	char *to = malloc(bytes + 1);
	double t;

	if (!to)
		die("memory");
	for (size_t i = 0; i < bytes && touched; i += 4096)
		((volatile char *)to)[i] = 1;
	t = now_ms();
	for (size_t i = 0; at < bytes; i++) {
		size_t part = sizeof(struct hl_live_entry) << HL_LIVE_SEGMENT_BITS;

		part = part < bytes - at ? part : bytes - at;
		memcpy(to + at, l->pool.segments.data[i].entries, part);
		at += part;
	}
	t = now_ms() - t;
	free(to);
	return t;
}

struct sorted {
	struct hl_radix_item *items;
	size_t at;
};

static int next_block(void *arg, struct hl_live_block *b, uint8_t *func)
{
	struct sorted *s = arg;
	const struct hl_live_entry *e = s->items[s->at++].value;

	*b = (struct hl_live_block){.addr = e->addr,
		.size = hl_live_size(e),
		.ordinal = hl_live_ordinal(e),
		.alloc_ns = hl_live_alloc_ns(e),
		.node = hl_live_node(e),
		.thread = hl_live_thread(e),
		.blocks = 1,
		.bytes = hl_live_size(e)};
	*func = 0;
	return 0;
}

static int discard(void *arg, const struct hl_sealed *chunk)
{
	return 0;
}

static void add_tables(struct hl_writer *w, uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++) {
		struct hl_node n = {.parent = i ? (uint32_t)(hl_hash_u64(i) % i) : HL_NODE_NONE,
			.module = HL_MODULE_NONE,
			.offset = hl_hash_u64(i) >> 30};

		hl_writer_add_node(w, &n);
	}
	hl_writer_add_thread(w, 1);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
	uint32_t nodes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 20000;
	struct hl_meta meta = {.program = "p", .arch = "x86_64", .clock = "tsc", .mode = "trace"};
	static struct hl_file_status status;
	struct hl_radix_item *spare;
	struct hl_base_place place;
	struct hl_writer *old, *w;
	struct hl_live_table live;
	struct copy copy;
	struct sorted sorted = {0};
	const struct hl_base_blocks blocks = {next_block, &sorted};
	uint64_t before;
	double t;
	int fd = memfd_create("base", 0);

	if (hl_writer_open_to(&old, &meta, NULL, discard, NULL, &status) < 0)
		die("opening a writer");
	add_tables(old, nodes);
	live = fill_table(old, n, nodes);
	printf("%llu live blocks, %u nodes\n", (unsigned long long)hl_live_blocks(&live), nodes);

	t = now_ms();
	copy = (struct copy){malloc(hl_live_blocks(&live) * sizeof(*copy.entries)), 0};
	hl_live_each(&live, copy_entry, &copy);
	printf("copy of the live table:   %8.1f ms, block by block\n", now_ms() - t);
	printf("                          %8.1f ms, by segments\n", copy_segments(&live, false));
	printf("                          %8.1f ms, by segments to memory that was touched "
	       "before\n",
		copy_segments(&live, true));

	hl_writer_describe_base(old, 0, copy.n, &meta.base);
	t = now_ms();
	if (hl_writer_open_with(&w, fd, &meta, NULL) < 0)
		die("opening a writer");
	add_tables(w, nodes);
	if (hl_writer_begin_base(w, old, &place) < 0)
		die("the base");
	printf("META and TABLE:           %8.1f ms, packed and written\n", now_ms() - t);

	t = now_ms();
	sorted.items = malloc(copy.n * sizeof(*sorted.items));
	spare = malloc(copy.n * sizeof(*spare));
	for (size_t i = 0; i < copy.n; i++)
		sorted.items[i] =
			(struct hl_radix_item){hl_live_ordinal(&copy.entries[i]), &copy.entries[i]};
	hl_radix_sort(sorted.items, spare, copy.n);
	printf("sort by ordinal:          %8.1f ms\n", now_ms() - t);

	t = now_ms();
	if (hl_base_blocks_write(&place, &blocks, discard, NULL) < 0)
		die("the live set");
	printf("LIVESET, encoded:         %8.1f ms\n", now_ms() - t);
	sorted.at = 0;
	before = hl_writer_bytes(w);
	t = now_ms();
	if (hl_writer_add_base_blocks(w, &place, &blocks) < 0)
		die("the live set");
	printf("LIVESET, also packed:     %8.1f ms, %.1f bytes a block\n", now_ms() - t,
		(double)(hl_writer_bytes(w) - before) / (double)copy.n);
	before = hl_writer_bytes(w);
	t = now_ms();
	if (hl_writer_end_base(w) < 0)
		die("the keyframe");
	printf("KEYFRAME:                 %8.1f ms, packed and written, %.1f KiB\n", now_ms() - t,
		(double)(hl_writer_bytes(w) - before) / 1024);
	hl_writer_close(old);
	hl_writer_close(w);
	hl_live_fini(&live);
	return 0;
}
