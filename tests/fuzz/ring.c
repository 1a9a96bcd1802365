/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - fuzz target: the collector reads shared memory that a hostile program writes, and
 * continues to write while it is read.
 *
 * Input: options (one byte), then steps, each with a byte for its kind: a record for a ring, with
 * its fields; raw words for a ring; bytes at any offset of the region; a change of owner; a scan.
 * Meanwhile a second thread overwrites parts of the region with bytes of the input, through a
 * mapping of its own, as the program has one. For any input, the traces must be complete.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/hash.h"
#include "collect/collector.h"
#include "collect/output/write_queue.h"
#include "fuzz.h"
#include "ring/ring_clock.h"
#include "ring/ring_record.h"
#include "trace/read/reader.h"

static char dir[64];
static struct hl_collect_settings settings = {
	.memory_limit = 1 << 20, .output = {.pattern = "t.hlt", .dir_fd = -1, .overwrite = true}};

static void remove_dir(void)
{
	rmdir(dir);
}

static void make_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/hl-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	FUZZ_MUST(mkdtemp(dir));
	settings.output.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	atexit(remove_dir);
}

/* Called when a trace is closed: it must open, and nothing in it may be damaged. */
static void on_closed(void *arg, const struct hl_closed_trace *t)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_reader *r;
	char path[256];

	FUZZ_MUST(t->err == 0);
	snprintf(path, sizeof(path), "%s/%.100s", dir, t->path);
	FUZZ_MUST(hl_reader_open(&r, path, &why) == 0);
	FUZZ_MUST(
		hl_reader_verify(r, NULL) == 0 && hl_reader_info(r, &info) == 0 && !info->damaged);
	hl_reader_close(r);
	unlink(path);
}

static void on_snapshot(void *arg, const char *sentence)
{
	FUZZ_MUST(sentence[0]);
}

struct scribbler {
	uint8_t *map;
	const uint8_t *data;
	size_t size;
	_Atomic bool stop;
};

/* Writes mostly to the ring controls and to the first words of the first rings. */
static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	uint64_t rng = s->size;

	for (size_t i = 0; !atomic_load(&s->stop); i++) {
		uint64_t r = hl_hash_u64(rng += HL_HASH_K);
		size_t at = r >> 8 & 1 ? HL_REGION_DATA_OFFSET + (r >> 32) % 4096 * 8
				       : (r >> 32) % (HL_REGION_CONTROL_OFFSET + 2048);

		__atomic_store_n(s->map + at, s->data[i % s->size], __ATOMIC_RELAXED);
		if (r % 64 == 0)
			usleep(1);
	}
	return NULL;
}

static void put_words(struct hl_region *region, uint32_t i, const uint64_t *words, uint32_t n)
{
	struct hl_ring *ring = hl_region_ring(region, i);
	uint64_t w = __atomic_load_n(&ring->head, __ATOMIC_RELAXED) & ~UINT64_C(7);

	for (uint32_t k = 0; k < n; k++)
		hl_region_data(region, i)[(w / 8 + k) % (hl_ring_bytes(i) / 8)] = words[k];
	__atomic_store_n(&ring->head, w + 8 * n, __ATOMIC_RELEASE);
}

static void set_owner(struct hl_region *region, uint32_t i, struct fuzz_input *in)
{
	struct hl_ring *ring = hl_region_ring(region, i);

	ring->serial = (uint32_t)fuzz_take(in, 1) % 4;
	ring->tid = (uint32_t)fuzz_take(in, 2);
	atomic_fetch_add(&ring->claim, 1);
	atomic_store(&ring->state, HL_RING_OWNED);
	if (atomic_load(&region->rings_used) <= i)
		atomic_store(&region->rings_used, i + 1);
}

/*
 * Puts a well-formed record with the length of its type: type, function, and small numbers as
 * fields.
 */
static void put_record(struct hl_region *region, uint32_t i, struct fuzz_input *in)
{
	uint32_t type = (uint32_t)fuzz_take(in, 1) % HL_REC_COUNT, pcs, n = 8;
	uint64_t words[300] = {0};

	words[0] = hl_first_word(
		hl_ring_now(region) - fuzz_take(in, 1), type, (uint32_t)fuzz_take(in, 1) & 31);
	for (uint32_t k = 1; k < 8; k++)
		words[k] = fuzz_take(in, 2);
	pcs = (uint32_t)words[2] & 31;
	if (type == HL_REC_MODULE) {
		words[4] = (words[4] & 31) << 8 | (words[5] & 63) << 16;
		n = 5 + (uint32_t)((words[4] >> 8 & 31) + 7) / 8 + ((words[4] >> 16 & 63) + 7) / 8;
	} else if (type == HL_REC_MARK) {
		words[1] = words[1] % 7 | (words[2] & 63) << 8;
		n = 2 + ((words[2] & 63) + 7) / 8;
	} else if (type == HL_REC_STACK) {
		words[1] = hl_stack_word(words[3] & 1, pcs, 0);
		n = 2 + pcs;
	} else if (type == HL_REC_FREE || type == HL_REC_MOVE_BEGIN || type == HL_REC_MOVE_FAILED ||
		   type == HL_REC_PROCESS || type == HL_REC_SWITCH) {
		words[1] |= type == HL_REC_SWITCH ? (words[2] & 3) << 32 : 0;
		n = 2;
	} else if (type == HL_REC_TAG_NAME || type == HL_REC_POOL_NAME) {
		/* small ids, so that some records are their own parents, too */
		words[1] = (words[1] & 7) | (type == HL_REC_TAG_NAME ? (words[1] & 56) << 29 : 0);
		words[2] &= 63;
		n = 3 + (uint32_t)(words[2] + 7) / 8;
	} else if (type == HL_REC_TAG || type == HL_REC_STACK_ID) {
		words[1] &= type == HL_REC_TAG ? 7 : 1027;
		n = 2;
	} else if (type == HL_REC_POOL_FREE) {
		words[2] &= 7;
		n = 3;
	} else if (type == HL_REC_POOL_ALLOC || type == HL_REC_ALLOC_STACK_ID) {
		words[2] = hl_stack_word(words[4], pcs, words[2] >> 8);
		words[3] &= type == HL_REC_POOL_ALLOC ? 7 : 1027;
		n = 4 + pcs;
	} else if (type == HL_REC_EXEC) {
		n = 1;
	} else if (type == HL_REC_ALLOC && pcs == 31) {
		words[2] = hl_stack_id_word(words[3], words[4] & 1027);
		n = 3;
	} else if (type != HL_REC_EXIT) {
		uint64_t size = words[3];

		words[2] = hl_stack_word(size == 0xffff ? HL_SIZE_BIG : size, pcs, words[2] >> 8);
		n = (type == HL_REC_MOVE_END     ? 4
			    : type >= HL_REC_MAP ? 6
						 : 3) +
		    pcs + (size == 0xffff);
	}
	put_words(region, i, words, n);
}

static void step(struct hl_region_reader *r, struct hl_region *region, struct fuzz_input *in)
{
	unsigned what = (unsigned)fuzz_take(in, 1);
	uint32_t ring = what >> 4 & 3;
	uint64_t words[16];
	size_t n;

	if (what & 128)
		ring = HL_RING_COUNT - 1 - ring;
	switch (what & 15) {
	case 0:
		set_owner(region, ring, in);
		break;
	case 1: /* raw words */
		for (n = 0; n < HL_ARRAY_LEN(words); n++)
			words[n] = fuzz_take(in, 8);
		put_words(region, ring, words, (uint32_t)n);
		break;
	case 2: { /* any offset */
		size_t at = fuzz_take(in, 4) % HL_REGION_BYTES;
		const uint8_t *bytes;

		n = fuzz_take(in, 1);
		bytes = fuzz_take_bytes(in, &n);
		n = n < HL_REGION_BYTES - at ? n : HL_REGION_BYTES - at;
		memcpy((uint8_t *)region + at, bytes, n);
		break;
	}
	case 3:
		hl_region_scan(r, hl_mono_ns() + (fuzz_take(in, 1) << 24));
		break;
	case 4:
		atomic_store(&region->shared_used, 1);
		break;
	case 5: /* the owner has died */
		hl_region_ring(region, ring)->owner_mutex.__data.__lock = 0x40000000;
		break;
	case 6:
		if (r->targets.len)
			hl_region_end_process(
				r, r->targets.data[0], &(struct hl_end){.kind = HL_END_EXIT});
		break;
	default:
		put_record(region, ring, in);
	}
}

static void run(struct hl_region_reader *r, struct fuzz_input *in, bool scribbling)
{
	struct scribbler s = {.data = in->p, .size = (size_t)(in->end - in->p)};
	pthread_t thread;

	s.map = mmap(NULL, HL_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->memfd, 0);
	FUZZ_MUST(s.map != MAP_FAILED);
	if (scribbling)
		FUZZ_MUST(pthread_create(&thread, NULL, scribble, &s) == 0);
	while (in->p < in->end)
		step(r, (struct hl_region *)s.map, in);
	for (int i = 0; i < 3; i++)
		hl_region_scan(r, hl_mono_ns() + ((uint64_t)i << 31));
	while (r->targets.len)
		hl_region_end_process(r, r->targets.data[0], &(struct hl_end){.kind = HL_END_EXIT});
	if (scribbling) {
		atomic_store(&s.stop, true);
		pthread_join(thread, NULL);
	}
	munmap(s.map, HL_REGION_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	unsigned options = (unsigned)fuzz_take(&in, 1);
	struct hl_write_queue queue = {
		.settings = &settings.output, .on_closed = on_closed, .on_snapshot = on_snapshot};
	struct hl_region_reader *r;

	if (!dir[0])
		make_dir();
	if (in.p == in.end)
		return 0;
	settings.flags = options >> 1 & 31;
	settings.clock = options & 64 ? HL_CLOCK_COUNTER : HL_CLOCK_TSC;
	FUZZ_MUST(hl_write_queue_start(&queue) == 0);
	FUZZ_MUST(hl_region_open(&r, -1, (uint64_t)getpid(), true, &settings, &queue) == 0);
	run(r, &in, options & 1);
	hl_region_close(r);
	hl_write_queue_stop(&queue);
	return 0;
}
