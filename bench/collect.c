/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.c - measures the CPU time per event of the collector's first thread. There is no recorded
 * program: rings are filled with synthetic records and drained.
 *
 *	bench/collect [EVENTS [RINGS [LIVE]]]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collect/drain/region.h"
#include "collect/output/write_queue.h"
#include "ring/ring_clock.h"
#include "ring/ring_record.h"

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct hl_region *region;

static void put_record(uint32_t ring, uint32_t type, int n, const uint64_t *words)
{
	struct hl_ring *r = hl_region_ring(region, ring);
	uint64_t *data = hl_region_data(region, ring), pos = r->head / 8;

	data[pos++ % (hl_ring_bytes(ring) / 8)] = hl_first_word(hl_ring_now(NULL), type, 0);
	for (int i = 0; i < n; i++)
		data[pos++ % (hl_ring_bytes(ring) / 8)] = words[i];
	__atomic_store_n(&r->head, pos * 8, __ATOMIC_RELEASE);
}

/* Each step frees a block and allocates another at its address; two frames of the stack are new. */
static void fill_ring(uint32_t ring, uint64_t *state, uint32_t events, uint32_t live)
{
	for (uint32_t i = 0; i < events; i += 2) {
		uint64_t n, addr;

		*state = *state * 6364136223846793005u + 1442695040888963407u;
		n = *state >> 33;
		addr = 0x7f0000000000 + ((n % live) * (ring + 1)) * 64;
		put_record(ring, HL_REC_FREE, 1, (uint64_t[]){addr});
		put_record(ring, HL_REC_ALLOC, 4,
			(uint64_t[]){addr, hl_stack_word(32 + n % 64, 2, 6), 0x400000 + n % 97 * 16,
				0x500000 + n % 13 * 16});
	}
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000, done = 0, spent = 0,
		 states[64] = {1};
	uint32_t rings = argc > 2 ? (uint32_t)atoi(argv[2]) : 1,
		 live = argc > 3 ? (uint32_t)atoi(argv[3]) : 1000;
	struct hl_collect_settings settings = {.memory_limit = SIZE_MAX};
	struct hl_write_queue queue = {0};
	struct hl_region_reader *r;

	settings.output.pattern = "/tmp/bench-collect.%p.hlt";
	settings.output.dir_fd = AT_FDCWD;
	settings.output.overwrite = true;
	queue.settings = &settings.output;
	if (hl_write_queue_start(&queue) ||
		hl_region_open(&r, -1, (uint64_t)getpid(), true, &settings, &queue))
		return 1;
	region = r->region;
	atomic_store(&region->start_stamp, hl_ring_now(NULL) & HL_STAMP_MASK);
	for (uint32_t i = 0; i < rings; i++) {
		struct hl_ring *ring = hl_region_ring(region, i);

		ring->tid = i + 1;
		atomic_store(&ring->claim, 1);
		atomic_store(&ring->state, HL_RING_OWNED);
		/* Six outer frames that later stacks share. */
		put_record(i, HL_REC_ALLOC, 8,
			(uint64_t[]){i + 8, hl_stack_word(1, 6, 0), 1, 2, 3, 4, 5, 6});
	}
	region->rings_used = rings;
	while (done < events) {
		uint64_t before;

		for (uint32_t i = 0; i < rings; i++)
			fill_ring(i, &states[i], 1200, live);
		done += (uint64_t)1200 * rings;
		before = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
		hl_region_scan(r, hl_mono_ns());
		spent += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before;
		while (hl_write_queue_full(&queue))
			usleep(100);
	}
	for (int i = 0; i < 3; i++)
		hl_region_scan(r, hl_mono_ns());
	hl_region_end_process(r, r->targets.data[0], &(struct hl_end){.kind = HL_END_EXIT});
	hl_write_queue_stop(&queue);
	printf("%llu events, %u rings, %u live: first thread %.1f ns an event, all %.1f\n",
		(unsigned long long)done, rings, live, (double)spent / (double)done,
		(double)cpu_ns(CLOCK_PROCESS_CPUTIME_ID) / (double)done);
	return 0;
}
