/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wild_test.c - misleading frame pointers, pcs and stacks, and frames that need all registers.
 */
#include "record/unwind/test_unwind.h"

/* An arbitrary frame pointer at a frame that needs it: no crash, and both unwinds agree. */
static hl_noinline void unwind_with_fp(uintptr_t fp)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	start.fp = fp;
	last_err = hl_unwind(u, &start, &last);
	full_n = 0;
	full_cut = hl_unwind_full(&start, add_full_pc, NULL);
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
		unwind_with_fp(fp);
		assert_equals_full();
	}
	event();
	assert_equals_full();
}

/*
 * An arbitrary state in real code. Tables are trusted with rsp only, so rsp must be a valid
 * address.
 */
static void wild_pcs(void **state)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	static uintptr_t fake_stack[8192];

	for (int i = 0; i < 20000; i++) {
		struct hl_regs start = {.pc = (uintptr_t)qsort + rnd(500000),
			.sp = (uintptr_t)fake_stack + 64,
			.fp = here};

		for (size_t k = 0; k < HL_ARRAY_LEN(fake_stack); k += 1 + rnd(3))
			fake_stack[k] =
				rnd(2) ? (uintptr_t)fake_stack + rnd(sizeof(fake_stack)) : 0;
		last_err = hl_unwind(u, &start, &last);
		full_n = 0;
		full_cut = hl_unwind_full(&start, add_full_pc, NULL);
		assert_equals_full();
	}
}

/* A CFA in rbx, as in the resolver of the dynamic linker; and a frame too large for a rule. */
void hl_test_cfa_in_rbx(void (*fn)(void));
__asm__(".text\n.globl hl_test_cfa_in_rbx\n.type hl_test_cfa_in_rbx, @function\n"
	"hl_test_cfa_in_rbx: .cfi_startproc\n"
	"push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
	"and $-256, %rsp\nsub $512, %rsp\ncall *%rdi\n"
	"mov %rbx, %rsp\n.cfi_def_cfa_register %rsp\n"
	"pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nret\n.cfi_endproc\n"
	".size hl_test_cfa_in_rbx, .-hl_test_cfa_in_rbx\n");

static bool is_in_function(uintptr_t pc, void *function)
{
	uintptr_t lo, hi;

	return hl_unwind_function_range(pc - 1, &lo, &hi) && lo == (uintptr_t)function;
}

static hl_noinline void events_in_rbx(void)
{
	for (int i = 0; i < 3; i++) {
		event();
		assert_equals_full();
		assert_true(full_n > 4);
		assert_true(is_in_function(full[0], events_in_rbx));
		assert_true(is_in_function(full[1], hl_test_cfa_in_rbx));
	}
}

static hl_noinline void event_in_large(void)
{
	event();
	assert_equals_full();
}

static hl_noinline __attribute__((optimize("omit-frame-pointer"))) void large_frame(void)
{
	volatile char large[600 * 1024];

	large[0] = large[sizeof(large) - 1] = 1;
	event_in_large();
	sink += large[0];
}

static void frames_that_need_all_registers(void **state)
{
	for (int i = 0; i < 3; i++) {
		hl_test_cfa_in_rbx(events_in_rbx);
		assert_true(is_in_function(full[2], frames_that_need_all_registers));
		down(3, large_frame);
		assert_true(is_in_function(full[0], event_in_large));
		assert_true(is_in_function(full[1], large_frame));
		assert_true(is_in_function(full[2], down));
	}
}

/*
 * Two callers with frames of different sizes, and a callee that compensates for it: stack pointers,
 * pcs and return address slots further inside are all the same, and the slot of the outer return
 * address still holds its old word. Only the saved frame pointer shows that the callers differ.
 */
static hl_noinline void saves_fp(void)
{
	event();
	assert_equals_full();
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

static hl_noinline void first_caller(size_t pad, void (*fn)(void))
{
	volatile char *p = alloca(pad);

	p[0] = 1;
	uses_fp(8192 - pad, fn);
	sink += p[0];
}

static hl_noinline void second_caller(size_t pad, void (*fn)(void))
{
	volatile char *p = alloca(pad);

	p[0] = 1;
	uses_fp(8192 - pad, fn);
	sink += p[0];
}

static void stale_slots_are_not_trusted(void **state)
{
	static void (*const inner[])(void) = {saves_fp, keeps_fp};
	static void (*const outer[])(size_t, void (*)(void)) = {first_caller, second_caller};

	for (int i = 0; i < 400; i++) {
		void (*fn)(void) = inner[i / 4 % 2];
		int at = fn == saves_fp ? 2 : 3;
		uintptr_t pc[2], innermost[2];

		/*
		 * One call site, and no call between the two: it would overwrite the slots that the
		 * first call left.
		 */
		for (volatile int k = 0; k < 2; k++) { /* volatile: not unrolled */
			outer[k](1024 + 3072 * (size_t)k + 16 * (size_t)(i % 7), fn);
			pc[k] = full[at];
			innermost[k] = full[0];
		}
		assert_int_equal(innermost[0], innermost[1]);
		assert_true(is_in_function(pc[0], first_caller));
		assert_true(is_in_function(pc[1], second_caller));
	}
}

/*
 * Memory that earlier unwinds have read is still walked. A full walk does not know it and may end
 * early.
 */
static void assert_at_least_full(void)
{
	assert_int_equal(last_err, 0);
	assert_true(last.depth >= full_n && full_n > 0);
	for (uint32_t i = 0; i < full_n; i++)
		assert_int_equal(last.pcs[last.depth - 1 - i], full[i]);
}

/* The last test: it cannot be undone. */
static void without_syscalls(void **state)
{
	uint32_t depth;

	event();
	depth = last.depth;
	hl_unwind_forbid_syscalls(true);
	event();
	assert_at_least_full();
	assert_int_equal(last.depth, depth);
	unwind_with_fp((uintptr_t)full & ~(uintptr_t)7); /* readable, but not known to be */
	assert_at_least_full();
	assert_true(last.truncated);
	hl_unwind_bump();
	down(20, event);
	assert_at_least_full();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wild_frame_pointers),
		cmocka_unit_test(wild_pcs),
		cmocka_unit_test(frames_that_need_all_registers),
		cmocka_unit_test(stale_slots_are_not_trusted),
		cmocka_unit_test(without_syscalls),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
