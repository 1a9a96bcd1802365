/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unwind.h - for unwinder tests: an event as in a hook, unwound both incrementally and in
 * full.
 */
#ifndef HL_RECORD_UNWIND_TEST_UNWIND_H
#define HL_RECORD_UNWIND_TEST_UNWIND_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <alloca.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "record/unwind/last_stack.h"
#include "record/unwind/memo_internal.h"
#include "record/unwind/unwind.h"

#define FULL_MAX 400000

static struct hl_unwinder *u;
static struct hl_stack last;
static int last_err;
static struct hl_stack_lookup lookup; /* the lookup before the last unwind */
static uint32_t last_stack_result;
static uint64_t serial_before;
static uintptr_t full[FULL_MAX];
static size_t full_n;
static bool full_cut;

static void *map_memory(void)
{
	void *p = mmap(NULL, HL_UNWINDER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static int setup(void **state)
{
	hl_unwind_init(NULL);
	u = hl_unwinder_init(map_memory(), HL_UNWINDER_BYTES);
	return u == NULL;
}

static bool add_full_pc(void *arg, uintptr_t pc)
{
	full[full_n++] = pc;
	return full_n < FULL_MAX;
}

/* Unwinds as a hook does, and again in full. */
static hl_noinline void event(void)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	errno = 77;
	serial_before = hl_unwind_serial(u);
	last_stack_result = hl_unwind_is_last_stack(u, &start, serial_before);
	lookup = (struct hl_stack_lookup){.result = HL_LOOKUP_UNWIND};
	if (last_stack_result == 0)
		lookup = hl_unwind_lookup(u, &start);
	last_err = lookup.result == HL_LOOKUP_MISS ? hl_unwind_after_miss(u, &start, &last)
						   : hl_unwind(u, &start, &last);
	full_n = 0;
	full_cut = hl_unwind_full(&start, add_full_pc, NULL);
	assert_int_equal(errno, 77);
}

static void assert_equals_full(void)
{
	assert_int_equal(last_err, 0);
	assert_int_equal(last.depth, full_n);
	assert_int_equal(last.truncated, full_cut);
	for (uint32_t i = 0; i < last.depth; i++)
		assert_int_equal(last.pcs[last.depth - 1 - i], full[i]);
}

static volatile int sink;

static uint32_t seed = 7;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * n) >> 32);
}

static hl_noinline void down(int depth, void (*fn)(void))
{
	if (depth > 0)
		down(depth - 1, fn);
	else
		fn();
	sink++;
}

#endif
