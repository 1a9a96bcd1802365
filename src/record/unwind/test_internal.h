/*
 * test_internal.h - for tests of the unwinder: an event as a hook would make it, taken both ways.
 */
#ifndef HL_RECORD_UNWIND_TEST_INTERNAL_H
#define HL_RECORD_UNWIND_TEST_INTERNAL_H

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

#include "record/unwind/again.h"
#include "record/unwind/memo_internal.h"
#include "record/unwind/unwind.h"

#define DEPTH 400000

static struct hl_unwinder *u;
static struct hl_stack last;
static int last_err;
static struct hl_again again; /* what was said before the last unwind */
static uint32_t last_again;
static uint64_t serial_before;
static uintptr_t full[DEPTH];
static size_t full_n;
static bool full_cut;

static void *memory(void)
{
	void *p = mmap(NULL, HL_UNWINDER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

static int setup(void **state)
{
	hl_unwind_init(NULL);
	u = hl_unwinder_init(memory(), HL_UNWINDER_BYTES);
	return u == NULL;
}

static bool add(void *arg, uintptr_t pc)
{
	full[full_n++] = pc;
	return full_n < DEPTH;
}

/* What a hook does. */
static hl_noinline void event(void)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	errno = 77;
	serial_before = hl_unwind_serial(u);
	last_again = hl_unwind_last_again(u, &start, serial_before);
	again = (struct hl_again){.what = HL_AGAIN_ASK};
	if (last_again == 0)
		again = hl_unwind_way_again(u, &start);
	last_err = again.what == HL_AGAIN_NEW ? hl_unwind_new(u, &start, &last)
					      : hl_unwind(u, &start, &last);
	full_n = 0;
	full_cut = hl_unwind_full(&start, add, NULL);
	assert_int_equal(errno, 77);
}

static void assert_same(void)
{
	assert_int_equal(last_err, 0);
	assert_int_equal(last.depth, full_n);
	assert_int_equal(last.cut, full_cut);
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
