/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate-trace.c - writes the trace of a simulated program twice: in one file, and in several, by
 * the collector's own rotation. The records and their stamps are the same, so all answers must be.
 *
 * usage: rotate-trace SEED EVENTS WHOLE_DIRECTORY ROTATED_DIRECTORY AT...
 *
 * The program has four threads, tags, thread names, pools, mappings and reallocs. AT are numbers of
 * steps after which the trace is rotated. The files are trace.hlt, trace.2.hlt ...
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/control/rotate_request.h"
#include "collect/drain/region.h"
#include "collect/output/write_queue.h"
#include "ring/ring_clock.h"
#include "ring/ring_record.h"

#define THREADS 4u
#define BLOCKS  3000u
#define SCAN    64u

struct block {
	uint64_t addr;
	bool live;
};

struct program {
	struct hl_region_reader *r;
	uint64_t stamp, random, next_addr;
	struct block blocks[BLOCKS];
	bool pool_live[64], mapped[64];
};

static void die(const char *what)
{
	fprintf(stderr, "rotate-trace: %s failed\n", what);
	exit(1);
}

static uint64_t pick(struct program *p, uint64_t n)
{
	p->random = hl_hash_u64(p->random + 1);
	return p->random % n;
}

static void put(struct program *p, uint32_t ring, uint32_t type, uint32_t func, int n,
	const uint64_t *words)
{
	struct hl_ring *r = hl_region_ring(p->r->region, ring);
	uint64_t *data = hl_region_data(p->r->region, ring), pos = r->head / 8;

	p->stamp += 300 + pick(p, 2000);
	data[pos++ % (hl_ring_bytes(ring) / 8)] = hl_first_word(p->stamp, type, func);
	for (int i = 0; i < n; i++)
		data[pos++ % (hl_ring_bytes(ring) / 8)] = words[i];
	__atomic_store_n(&r->head, pos * 8, __ATOMIC_RELEASE);
}

/* Words 0 to 2 are set by the caller; the pcs of a random stack follow. Returns the length. */
static int add_stack(struct program *p, uint64_t *words, int at, uint64_t size)
{
	int n = 1 + (int)pick(p, 4);

	words[1] = hl_stack_word(size, (uint32_t)n, 0);
	for (int i = 0; i < n; i++)
		words[at + i] = 0x400100 + pick(p, 6) * 64 + (uint64_t)i * 4096;
	return at + n;
}

static uint64_t new_address(struct program *p, struct block *b)
{
	if (!b->addr || pick(p, 4) == 0)
		b->addr = 0x7f0000000000 + (p->next_addr += 1 + pick(p, 8)) * 64;
	b->live = true;
	return b->addr;
}

static void allocate(struct program *p, uint32_t ring, struct block *b)
{
	static const uint8_t funcs[] = {
		HL_FUNC_MALLOC, HL_FUNC_CALLOC, HL_FUNC_NEW, HL_FUNC_ALIGNED_ALLOC};
	uint64_t words[16] = {new_address(p, b)};
	int n = add_stack(p, words, 2, 1 + pick(p, 5000));

	put(p, ring, HL_REC_ALLOC, funcs[pick(p, 4)], n, words);
}

static void move(struct program *p, uint32_t ring, struct block *b)
{
	uint64_t words[16] = {0, 0, b->addr};
	int n;

	put(p, ring, HL_REC_MOVE_BEGIN, HL_FUNC_REALLOC, 1, &b->addr);
	if (pick(p, 2))
		b->addr = 0;
	words[0] = new_address(p, b);
	n = add_stack(p, words, 3, 1 + pick(p, 9000));
	put(p, ring, HL_REC_MOVE_END, HL_FUNC_REALLOC, n, words);
}

static void put_text(struct program *p, uint32_t ring, uint32_t type, uint64_t a, uint64_t b,
	const char *text, size_t len)
{
	uint64_t words[8] = {a, b};

	memcpy(words + 2, text, len);
	put(p, ring, type, 0, type == HL_REC_MARK ? 1 + (int)(len + 7) / 8 : 2 + (int)(len + 7) / 8,
		words);
}

static void put_mark(struct program *p, uint32_t ring, uint32_t kind, const char *text)
{
	uint64_t words[8] = {kind | strlen(text) << 8};

	memcpy(words + 1, text, strlen(text));
	put(p, ring, HL_REC_MARK, 0, 1 + (int)(strlen(text) + 7) / 8, words);
}

/* A scope of this thread: one of eight, some of them inside others. */
static void enter_scope(struct program *p, uint32_t ring)
{
	uint64_t tag = pick(p, 9);
	char name[16];

	if (tag) {
		snprintf(name, sizeof(name), "scope %u", (unsigned)tag);
		put_text(p, ring, HL_REC_TAG_NAME, tag | (tag / 3) << 32, strlen(name), name,
			strlen(name));
	}
	put(p, ring, HL_REC_TAG, 0, 1, &tag);
}

static void use_pool(struct program *p, uint32_t ring)
{
	uint64_t i = pick(p, 64), words[16] = {0x600000000000 + i * 64, 0, 77};
	int n;

	if (p->pool_live[i]) {
		put(p, ring, HL_REC_POOL_FREE, 0, 2, (uint64_t[]){words[0], 77});
	} else {
		n = add_stack(p, words, 3, 1 + pick(p, 500));
		put(p, ring, HL_REC_POOL_ALLOC, 0, n, words);
	}
	p->pool_live[i] = !p->pool_live[i];
}

static void use_mapping(struct program *p, uint32_t ring)
{
	uint64_t i = pick(p, 64), size = 4096 * (1 + i % 4);
	uint64_t words[16] = {0x500000000000 + i * 65536, 0, size, p->mapped[i] ? 0 : 3, 0};
	int n = add_stack(p, words, 5, 0);

	words[1] &= ~HL_SIZE_BIG;
	put(p, ring, p->mapped[i] ? HL_REC_UNMAP : HL_REC_MAP,
		p->mapped[i] ? HL_FUNC_MUNMAP : HL_FUNC_MMAP, n, words);
	p->mapped[i] = !p->mapped[i];
}

static void step(struct program *p)
{
	uint32_t ring = (uint32_t)pick(p, THREADS);
	struct block *b = &p->blocks[pick(p, BLOCKS)];
	uint64_t what = pick(p, 200);

	if (what == 0)
		put_mark(p, ring, HL_MARK_MARK, "a mark");
	else if (what == 1)
		put_mark(p, ring, HL_MARK_THREAD_NAME, ring ? "worker" : "main");
	else if (what < 5)
		enter_scope(p, ring);
	else if (what < 10)
		use_pool(p, ring);
	else if (what < 13)
		use_mapping(p, ring);
	else if (!b->live)
		allocate(p, ring, b);
	else if (what < 40)
		move(p, ring, b);
	else {
		put(p, ring, HL_REC_FREE, HL_FUNC_FREE, 1, &b->addr);
		b->live = false;
	}
}

static void claim_rings(struct program *p)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		struct hl_ring *ring = hl_region_ring(p->r->region, i);

		ring->tid = 100 + i;
		atomic_fetch_add(&ring->claim, 1);
		atomic_store(&ring->state, HL_RING_OWNED);
	}
	p->r->region->rings_used = THREADS;
}

static void put_start(struct program *p)
{
	static const char name[8] = "/made-up";
	uint64_t words[8] = {0x400000, 0x500000, 0x400000, sizeof(name) << 16};

	memcpy(words + 4, name, sizeof(name));
	put(p, 0, HL_REC_MODULE, 0, 5, words);
	put_text(p, 0, HL_REC_POOL_NAME, 77, 4, "pool", 4);
	/* The first event of each thread, so that threads have the same numbers in all files. */
	for (uint32_t i = 0; i < THREADS; i++)
		put(p, i, HL_REC_ALLOC, HL_FUNC_MALLOC, 3,
			(uint64_t[]){0x7e0000000000 + i * 64, hl_stack_word(8, 1, 0), 0x400500});
}

/* Stamps are in the past: a scan is not allowed to correct the clock meanwhile. */
static void scan(struct program *p)
{
	p->r->last_adjust_ns = hl_mono_ns();
	hl_region_scan(p->r, hl_mono_ns());
}

static void rotate(struct program *p)
{
	struct hl_rotate_request q = {0};
	int err;

	do {
		scan(p);
		err = hl_rotate_request_step(&q, p->r->targets.data[0], hl_mono_ns());
		usleep(100);
	} while (err == -EINPROGRESS);
	if (err)
		die(strerror(-err));
}

static void run(uint64_t seed, uint32_t steps, const char *dir, char **at, int n_at,
	const struct hl_tsc_clock *clock, uint64_t t0, struct hl_tsc_clock *clock_out)
{
	static struct program zero;
	struct program *p = malloc(sizeof(*p));
	struct hl_collect_settings settings = {.memory_limit = SIZE_MAX, .flags = HL_SET_MAPS};
	struct hl_write_queue queue = {.settings = &settings.output};

	*p = zero;
	p->random = seed;
	p->stamp = t0;
	settings.output.pattern = "trace.hlt";
	settings.output.dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (settings.output.dir_fd < 0 || hl_write_queue_start(&queue) ||
		hl_region_open(&p->r, -1, (uint64_t)getpid(), true, &settings, &queue))
		die("starting the collector");
	if (clock)
		p->r->clock = *clock;
	*clock_out = p->r->clock;
	atomic_store(&p->r->region->start_stamp, t0 & HL_STAMP_MASK);
	claim_rings(p);
	put_start(p);
	for (uint32_t i = 0, k = 0; i < steps; i++) {
		step(p);
		if (i % SCAN == 0)
			scan(p);
		if (k < (uint32_t)n_at && i == strtoul(at[k], NULL, 0)) {
			rotate(p);
			k++;
		}
	}
	for (int i = 0; i < 3; i++)
		scan(p);
	hl_region_end_process(p->r, p->r->targets.data[0], &(struct hl_end){.kind = HL_END_EXIT});
	hl_write_queue_stop(&queue);
	hl_region_close(p->r);
	close(settings.output.dir_fd);
	free(p);
}

int main(int argc, char **argv)
{
	struct hl_tsc_clock clock, unused;
	uint64_t seed, t0;
	uint32_t steps;

	if (argc < 5) {
		fputs("usage: rotate-trace SEED STEPS WHOLE ROTATED AT...\n", stderr);
		return 2;
	}
	seed = strtoull(argv[1], NULL, 0);
	steps = (uint32_t)strtoul(argv[2], NULL, 0);
	t0 = hl_ring_now(NULL) - steps * UINT64_C(5000) - 1000000;
	run(seed, steps, argv[3], NULL, 0, NULL, t0, &clock);
	run(seed, steps, argv[4], argv + 5, argc - 5, &clock, t0, &unused);
	return 0;
}
