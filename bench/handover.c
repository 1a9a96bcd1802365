/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover.c - the cost of a ring for its writer when its reader runs on another core. Compares a
 * reader that leaves the lines it read in its caches with one that flushes them (util/cacheline.h).
 *
 *	bench/handover [ROUNDS]
 *
 * Each round prints how long a word takes from core 0 to core 1 and back. Then, for both kinds of
 * reader, it prints the writer's time to write the records of one malloc/free pair and the reader's
 * time per cache line. A hypervisor may move a virtual machine to other cores at any time, and 50
 * ns become 350: look for rows of both kinds.
 */
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ring/region_layout.h"

#define RING      HL_FIRST_RING_BYTES
#define BATCH     (RING / 4) /* bytes that must be available before the reader reads */
#define LINE      64u
#define PAIRS     3000000u
#define TRIPS     200000u
#define FREE_LEN  16u
#define ALLOC_LEN 24u
#define DEPTH     24 /* words that the writer reads between two records, as a hook does */

static _Alignas(LINE) char ring[RING + LINE], copy[RING];
static _Alignas(LINE) _Atomic uint64_t written;
static _Alignas(LINE) _Atomic uint64_t taken;
static _Alignas(LINE) _Atomic bool over;
static _Alignas(LINE) _Atomic uint64_t ping;
static bool flush_lines;
static uint64_t reading_ns, lines_read;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool pin_to_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

__attribute__((target("clflushopt"))) static void let_go(uint64_t from, uint64_t to)
{
	for (; from < to; from += LINE)
		_mm_clflushopt(ring + from % RING);
}

static void read_ring(uint64_t from, uint64_t to)
{
	uint64_t at = from % RING, n = to - from, head = n < RING - at ? n : RING - at;
	uint64_t began = now();

	memcpy(copy, ring + at, head);
	memcpy(copy + head, ring, n - head);
	if (flush_lines)
		let_go(from / LINE * LINE, to / LINE * LINE);
	reading_ns += now() - began;
	lines_read += n / LINE;
}

static void *reader(void *arg)
{
	struct timespec nap = {.tv_nsec = 20000};

	(void)arg;
	pin_to_cpu(1);
	for (uint64_t from = 0; !over;) {
		uint64_t to = written;

		if (to - from < BATCH) {
			nanosleep(&nap, NULL);
			continue;
		}
		read_ring(from, to);
		taken = from = to;
	}
	return NULL;
}

static uint64_t write_record(uint64_t pos, unsigned len)
{
	static volatile uint64_t stack[DEPTH];
	uint64_t sum = 0, *to = (uint64_t *)(ring + pos % RING);

	for (int i = 0; i < DEPTH; i++)
		sum += stack[i];
	to[0] = __builtin_ia32_rdtsc();
	to[1] = to[len / 8 - 1] = sum;
	atomic_store_explicit(&written, pos + len, memory_order_release);
	return pos + len;
}

/* Returns ns per pair. */
static double write_pairs(bool flush)
{
	uint64_t pos = 0, limit = RING - LINE, began;
	pthread_t other;

	flush_lines = flush;
	written = taken = reading_ns = lines_read = 0;
	over = false;
	pthread_create(&other, NULL, reader, NULL);
	began = now();
	for (uint32_t i = 0; i < PAIRS; i++) {
		while (pos > limit)
			limit = taken + RING - LINE;
		pos = write_record(write_record(pos, FREE_LEN), ALLOC_LEN);
	}
	began = now() - began;
	over = true;
	pthread_join(other, NULL);
	return (double)began / PAIRS;
}

static void *echo_word(void *arg)
{
	(void)arg;
	pin_to_cpu(1);
	for (uint64_t i = 0; i < TRIPS; i++) {
		while (ping != 2 * i + 1)
			;
		ping = 2 * i + 2;
	}
	return NULL;
}

static double round_trip_ns(void)
{
	uint64_t began;
	pthread_t other;

	ping = 0;
	pthread_create(&other, NULL, echo_word, NULL);
	began = now();
	for (uint64_t i = 0; i < TRIPS; i++) {
		ping = 2 * i + 1;
		while (ping != 2 * i + 2)
			;
	}
	pthread_join(other, NULL);
	return (double)(now() - began) / TRIPS;
}

static bool can_flush(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_CLFLUSHOPT;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;

	if (!pin_to_cpu(1) || !pin_to_cpu(0) || !can_flush()) {
		fprintf(stderr, "handover: needs processors 0 and 1, with clflushopt\n");
		return 1;
	}
	printf("there and back |  left: pair, line | let go: pair, line  (ns)\n");
	for (int i = 0; i < rounds; i++) {
		printf("%14.0f", round_trip_ns());
		for (int way = 0; way < 2; way++) {
			double pair = write_pairs(way);

			printf(" | %10.1f %7.1f", pair,
				(double)reading_ns / (double)(lines_read ? lines_read : 1));
		}
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
