/*
 * unwind_test.c - the promises of unwind.h, one by one. The comparison with other unwinders is in
 * tests/unwind.
 */
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

#include "record/unwind/memo_internal.h"
#include "record/unwind/unwind.h"

#define DEPTH 400000

static struct hl_unwinder *u;
static struct hl_stack last;
static int last_err;
static uintptr_t full[DEPTH];
static size_t full_n;

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
	last_err = hl_unwind(u, &start, &last);
	full_n = 0;
	hl_unwind_full(&start, add, NULL);
	assert_int_equal(errno, 77);
}

static void assert_same(void)
{
	assert_int_equal(last_err, 0);
	assert_int_equal(last.depth, full_n);
	for (uint32_t i = 0; i < last.depth; i++)
		assert_int_equal(last.pcs[last.depth - 1 - i], full[i]);
}

static volatile int sink;

static hl_noinline void down(int depth, void (*fn)(void))
{
	if (depth > 0)
		down(depth - 1, fn);
	else
		fn();
	sink++;
}

static void loop(void)
{
	struct hl_unwind_counts a, b;

	event();
	for (int i = 0; i < 1000; i++) {
		hl_unwinder_counts(u, &a);
		if (i % 2)
			event();
		else
			event();
		hl_unwinder_counts(u, &b);
		assert_same();
		assert_true(b.walked - a.walked <= 2);
		assert_true(b.verified - a.verified >= 60);
	}
}

static void walks_little(void **state)
{
	down(60, loop);
}

static uint32_t seed = 7;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)seed * n) >> 32);
}

/* Each result shares with the one before at least what it says. */
static uintptr_t before[HL_MEMOS][4096];
static uint32_t before_n[HL_MEMOS];

static void check_common(void)
{
	event();
	assert_same();
	assert_true(last.common <= last.depth && last.common <= before_n[last.memo] &&
		    last.depth <= 4096);
	assert_memory_equal(last.pcs, before[last.memo], last.common * sizeof(uintptr_t));
	memcpy(before[last.memo], last.pcs, last.depth * sizeof(uintptr_t));
	before_n[last.memo] = last.depth;
}

static hl_noinline void wander(int budget)
{
	while (budget > 0) {
		switch (rnd(5)) {
		case 0:
			check_common();
			break;
		case 1:
			check_common();
			break;
		case 2:
			wander(budget / 2);
			break;
		case 3:
			wander(budget - 1);
			return;
		default:
			if (rnd(50) == 0)
				hl_unwind_bump();
			budget--;
		}
		budget--;
	}
}

static void common_is_common(void **state)
{
	hl_unwinder_reset(u);
	for (int i = 0; i < 300; i++)
		wander(60);
}

/* The module callback runs inside hl_unwind(): as good as a signal handler, and always on time. */
static bool nested_called, leave;
static jmp_buf out;

static void nested_unwind(const struct hl_unwind_module *module)
{
	struct hl_regs start;
	struct hl_stack s;

	HL_ARCH_CAPTURE(&start);
	if (nested_called)
		return;
	nested_called = true;
	assert_int_equal(hl_unwind(u, &start, &s), -EBUSY);
	full_n = 0;
	hl_unwind_full(&start, add, NULL);
	assert_true(full_n > 5);
	if (leave)
		longjmp(out, 1);
}

static void busy_inside(void **state)
{
	event();
	hl_unwind_init(nested_unwind);
	hl_unwind_bump();
	nested_called = leave = false;
	event();
	assert_true(nested_called);
	assert_same();
	hl_unwind_init(NULL);
}

static hl_noinline void clobber(void)
{
	volatile char bytes[4096];

	memset((char *)bytes, 0x55, sizeof(bytes));
	sink += bytes[5];
}

static void leaving_heals(void **state)
{
	hl_unwind_init(nested_unwind);
	hl_unwind_bump();
	nested_called = false;
	leave = true;
	if (!setjmp(out)) {
		down(10, event);
		fail();
	}
	assert_true(nested_called);
	clobber();       /* any call does it */
	down(30, event); /* deeper than the frame that was left */
	assert_same();
	event();
	assert_same();
	hl_unwind_init(NULL);
}

static void overtaken(void **state)
{
	struct hl_stack mine;

	event();
	mine = last;
	assert_true(hl_unwind_is_current(u, &mine));
	event();
	assert_false(hl_unwind_is_current(u, &mine));
	assert_true(hl_unwind_is_current(u, &last));
}

static hl_noinline int very_deep(int depth)
{
	int n = 0;

	if (depth % 5000 == 0) {
		event();
		if (full_n <= HL_MEMO_FRAMES / 2) {
			assert_same();
			assert_false(last.cut);
		} else {
			assert_int_equal(last_err, 0);
			assert_true(last.depth >= 1000 && last.depth <= full_n);
			assert_true(last.cut == (last.depth < full_n));
			for (uint32_t i = 0; i < last.depth; i++)
				assert_int_equal(last.pcs[last.depth - 1 - i], full[i]);
		}
	}
	if (depth > 0)
		n = very_deep(depth - 1);
	if (depth % 10000 == 1)
		event();
	return n + 1;
}

static void deep_main(void)
{
	sink = very_deep(300000);
}

static ucontext_t home;

/* On a stack of its own size; returns how many bytes of it were used. */
static size_t on_stack(size_t size, void (*fn)(void))
{
	static ucontext_t task;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t unused = 0;

	assert_true(p != MAP_FAILED);
	if (size < (1 << 20))
		memset(p, 0xa5, size);
	getcontext(&task);
	task.uc_stack.ss_sp = p;
	task.uc_stack.ss_size = size;
	task.uc_link = &home;
	makecontext(&task, fn, 0);
	swapcontext(&home, &task);
	while (size < (1 << 20) && unused < size && (uint8_t)p[unused] == 0xa5)
		unused++;
	munmap(p, size);
	return size - unused;
}

static void deeper_than_the_memo(void **state)
{
	on_stack((size_t)256 << 20, deep_main);
	event();
	assert_same();
}

static uintptr_t hook_sp;

static hl_noinline void only_unwind(void)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	hook_sp = start.sp;
	last_err = hl_unwind(u, &start, &last);
}

static void only_unwind_twice(void)
{
	only_unwind();
	only_unwind();
}

static void only_nothing(void)
{
	sink++;
}

static void small_on_the_stack(void **state)
{
	size_t nothing = on_stack(65536, only_nothing), cold, warm;

	hl_unwind_bump();
	cold = on_stack(65536, only_unwind_twice) - nothing;
	warm = on_stack(65536, only_unwind_twice) - nothing;
	print_message("stack used: %zu bytes with cold rules, %zu with warm ones\n", cold, warm);
	assert_true(warm < 1024 + 256);
	assert_true(cold < 2048 + 512);
}

/* Any frame pointer, at a frame that needs it: no crash, and both ways agree. */
static hl_noinline void take_with_fp(uintptr_t fp)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	start.fp = fp;
	last_err = hl_unwind(u, &start, &last);
	full_n = 0;
	hl_unwind_full(&start, add, NULL);
}

static void wild_frame_pointers(void **state)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	for (int i = 0; i < 20000; i++) {
		uintptr_t fp = (uintptr_t)rnd(UINT32_MAX) << 32 | rnd(UINT32_MAX);

		switch (rnd(6)) {
		case 0:
			fp = here + (fp % 65536) * 8;
			break;
		case 1:
			fp = here - (fp % 65536);
			break;
		case 2:
			fp &= (UINT64_C(1) << 47) - 8;
			break;
		case 3:
			fp = (uintptr_t)full + (fp % sizeof(full) & ~(uintptr_t)7);
			break;
		case 4:
			fp = (uintptr_t)-8 * rnd(100);
			break;
		}
		take_with_fp(fp);
		assert_same();
	}
	event();
	assert_same();
}

/* Any state at all, with real code: tables are trusted with rsp only, so rsp must be one. */
static void wild_pcs(void **state)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	static uintptr_t area[8192];

	for (int i = 0; i < 20000; i++) {
		struct hl_regs start = {.pc = (uintptr_t)qsort + rnd(500000),
			.sp = (uintptr_t)area + 64,
			.fp = here};

		for (size_t k = 0; k < HL_ARRAY_LEN(area); k += 1 + rnd(3))
			area[k] = rnd(2) ? (uintptr_t)area + rnd(sizeof(area)) : 0;
		last_err = hl_unwind(u, &start, &last);
		full_n = 0;
		hl_unwind_full(&start, add, NULL);
		assert_same();
	}
}

/* The CFA in rbx, as in the dynamic linker's resolver; and a frame too large for a rule. */
void hl_test_cfa_in_rbx(void (*fn)(void));
__asm__(".text\n.globl hl_test_cfa_in_rbx\n.type hl_test_cfa_in_rbx, @function\n"
	"hl_test_cfa_in_rbx: .cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
	"and $-256, %rsp\nsub $512, %rsp\ncall *%rdi\n"
	"mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n.cfi_endproc\n"
	".size hl_test_cfa_in_rbx, .-hl_test_cfa_in_rbx\n");

static bool within(uintptr_t pc, void *function)
{
	uintptr_t lo, hi;

	return hl_unwind_function_range(pc - 1, &lo, &hi) && lo == (uintptr_t)function;
}

static hl_noinline void in_rbx(void)
{
	for (int i = 0; i < 3; i++) {
		event();
		assert_same();
		assert_true(full_n > 4);
		assert_true(within(full[0], in_rbx));
		assert_true(within(full[1], hl_test_cfa_in_rbx));
	}
}

static hl_noinline void in_large(void)
{
	event();
	assert_same();
}

static hl_noinline __attribute__((optimize("omit-frame-pointer"))) void large_frame(void)
{
	volatile char large[600 * 1024];

	large[0] = large[sizeof(large) - 1] = 1;
	in_large();
	sink += large[0];
}

static void full_registers(void **state)
{
	for (int i = 0; i < 3; i++) {
		hl_test_cfa_in_rbx(in_rbx);
		assert_true(within(full[2], full_registers));
		down(3, large_frame);
		assert_true(within(full[0], in_large));
		assert_true(within(full[1], large_frame));
		assert_true(within(full[2], down));
	}
}

/*
 * Two callers whose frames differ in size and a callee that makes up for it: stack pointers, pcs
 * and return address slots further in are all the same, and the slot of the outer return address
 * still holds its old word. Only the saved frame pointer tells that another chain stands there.
 */
static hl_noinline void saves_fp(void)
{
	event();
	assert_same();
	sink++;
}

static hl_noinline __attribute__((optimize("omit-frame-pointer"))) void keeps_fp(void)
{
	saves_fp();
	sink++;
}

static hl_noinline void uses_fp(size_t pad, void (*fn)(void))
{
	volatile char *p = alloca(pad);

	p[0] = 1;
	fn();
	sink += p[0];
}

static hl_noinline void one(size_t pad, void (*fn)(void))
{
	volatile char *p = alloca(pad);

	p[0] = 1;
	uses_fp(8192 - pad, fn);
	sink += p[0];
}

static hl_noinline void two(size_t pad, void (*fn)(void))
{
	volatile char *p = alloca(pad);

	p[0] = 1;
	uses_fp(8192 - pad, fn);
	sink += p[0];
}

static void stale_slots_deceive_nobody(void **state)
{
	static void (*const inner[])(void) = {saves_fp, keeps_fp};
	static void (*const outer[])(size_t, void (*)(void)) = {one, two};

	for (int i = 0; i < 400; i++) {
		void (*fn)(void) = inner[i / 4 % 2];
		int at = fn == saves_fp ? 2 : 3;
		uintptr_t pc[2], innermost[2];

		/* One call site, and nothing between: it would wipe what the first call left. */
		for (volatile int k = 0; k < 2; k++) { /* volatile: not unrolled */
			outer[k](1024 + 3072 * (size_t)k + 16 * (size_t)(i % 7), fn);
			pc[k] = full[at];
			innermost[k] = full[0];
		}
		assert_int_equal(innermost[0], innermost[1]);
		assert_true(within(pc[0], one));
		assert_true(within(pc[1], two));
	}
}

static void takes_over(void **state)
{
	struct hl_unwind_counts c;

	event();
	hl_unwinder_reset(u);
	hl_unwinder_counts(u, &c);
	assert_int_equal(c.unwinds, 0);
	event();
	assert_same();
	assert_int_equal(last.common, 0);
}

/*
 * What earlier unwinds have vouched for is still walked; a full walk knows nothing and may end
 * early.
 */
static void assert_at_least_full(void)
{
	assert_int_equal(last_err, 0);
	assert_true(last.depth >= full_n && full_n > 0);
	for (uint32_t i = 0; i < full_n; i++)
		assert_int_equal(last.pcs[last.depth - 1 - i], full[i]);
}

/* Last: it cannot be undone. */
static void without_syscalls(void **state)
{
	uint32_t depth;

	event();
	depth = last.depth;
	hl_unwind_forbid_syscalls();
	event();
	assert_at_least_full();
	assert_int_equal(last.depth, depth);
	take_with_fp((uintptr_t)full & ~(uintptr_t)7); /* could be read, but nobody says so */
	assert_at_least_full();
	assert_true(last.cut);
	hl_unwind_bump();
	down(20, event);
	assert_at_least_full();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_little),
		cmocka_unit_test(common_is_common),
		cmocka_unit_test(busy_inside),
		cmocka_unit_test(leaving_heals),
		cmocka_unit_test(overtaken),
		cmocka_unit_test(deeper_than_the_memo),
		cmocka_unit_test(small_on_the_stack),
		cmocka_unit_test(wild_frame_pointers),
		cmocka_unit_test(wild_pcs),
		cmocka_unit_test(full_registers),
		cmocka_unit_test(stale_slots_deceive_nobody),
		cmocka_unit_test(takes_over),
		cmocka_unit_test(without_syscalls),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
