/*
 * wild_test.c - frame pointers, pcs and stacks that mislead, and frames that need all registers.
 */
#include "record/unwind/test_internal.h"

/* Any frame pointer, at a frame that needs it: no crash, and both ways agree. */
static hl_noinline void take_with_fp(uintptr_t fp)
{
	struct hl_regs start;

	HL_ARCH_CAPTURE(&start);
	start.fp = fp;
	last_err = hl_unwind(u, &start, &last);
	full_n = 0;
	full_cut = hl_unwind_full(&start, add, NULL);
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
		full_cut = hl_unwind_full(&start, add, NULL);
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
	hl_unwind_forbid_syscalls(true);
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
		cmocka_unit_test(wild_frame_pointers),
		cmocka_unit_test(wild_pcs),
		cmocka_unit_test(full_registers),
		cmocka_unit_test(stale_slots_deceive_nobody),
		cmocka_unit_test(without_syscalls),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
