/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c - measures ns per unwound stack, incrementally and from scratch, at several depths.
 *
 * same: one call site again and again. walk: two neighbouring call sites alternate. outer: a frame
 * half way up changes between two events. all: every frame differs from the last time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "base/attr.h"
#include "record/unwind/unwind.h"

static struct hl_unwinder *unwinder;
static volatile uintptr_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool add_pc(void *arg, uintptr_t pc)
{
	*(uintptr_t *)arg += pc;
	return true;
}

static bool full;
static long events;

/* Like a hook: it has a frame pointer and is called by the frame that allocates. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void hook(void)
{
	struct hl_regs start;
	struct hl_stack s;
	uintptr_t sum = 0;

	HL_ARCH_CAPTURE(&start);
	if (full) {
		hl_unwind_full(&start, add_pc, &sum);
	} else {
		hl_unwind(unwinder, &start, &s);
		sum = s.depth;
	}
	sink += sum;
	events++;
}

enum { SAME, WALK, OUTER, ALL };

__attribute__((noinline)) static void work(int kind, long n)
{
	for (long i = 0; i < n; i++) {
		hook();
		if (kind == WALK)
			hook();
	}
}

/* Recursion whose frames differ by their return address. */
__attribute__((noinline)) static void recurse(int depth, int kind, long n, unsigned bits)
{
	if (depth == 0) {
		work(kind, n);
	} else if (bits & 1) {
		recurse(depth - 1, kind, n, bits >> 1 | bits << 31);
		__asm__ volatile("nop" ::: "memory");
	} else {
		recurse(depth - 1, kind, n, bits >> 1 | bits << 31);
		__asm__ volatile("" ::: "memory");
	}
}

__attribute__((noinline)) static void middle(int depth, int kind, long n)
{
	for (long i = 0; i < n; i += 2) {
		recurse(depth, kind, 1, 0);
		recurse(depth, kind, 1, 0);
	}
}

__attribute__((noinline)) static void above(int up, int depth, int kind, long n)
{
	if (up == 0)
		middle(depth, kind, n);
	else
		above(up - 1, depth, kind, n);
	__asm__ volatile("" ::: "memory");
}

static double measure(int depth, int kind, bool whole)
{
	long n = kind == SAME || kind == WALK ? 200000 : 20000;
	double best = 1e18;

	full = whole;
	for (int run = 0; run < 7; run++) {
		double t;

		events = 0;
		t = now();
		if (kind == SAME || kind == WALK) {
			recurse(depth, kind, n, 0);
		} else if (kind == OUTER) {
			above(depth / 2, depth - depth / 2, kind, n);
		} else {
			for (long i = 0; i < n / 10; i++)
				recurse(depth, kind, 1, (unsigned)(i % 2 ? 0 : ~0u));
		}
		t = (now() - t) / (double)events;
		if (t < best)
			best = t;
	}
	return best;
}

int main(void)
{
	static const char *const names[] = {"same", "walk", "outer", "all"};
	static const int depths[] = {5, 20, 60, 200};
	void *memory = mmap(NULL, HL_UNWINDER_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	hl_unwind_init(NULL);
	unwinder = hl_unwinder_init(memory, HL_UNWINDER_BYTES);
	for (int kind = SAME; kind <= ALL; kind++) {
		for (size_t i = 0; i < HL_ARRAY_LEN(depths); i++) {
			struct hl_unwind_counts a, b;
			double inc, all = measure(depths[i], kind, true);

			hl_unwinder_counts(unwinder, &a);
			inc = measure(depths[i], kind, false);
			hl_unwinder_counts(unwinder, &b);
			printf("%-6s depth %3d: inc %7.1f ns  full %7.1f ns  walked %.2f\n",
				names[kind], depths[i], inc, all,
				(double)(b.walked - a.walked) / (double)(b.unwinds - a.unwinds));
		}
	}
	return 0;
}
