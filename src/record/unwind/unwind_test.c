/*
 * unwind_test.c - the promises of unwind.h, one by one. The comparison with other unwinders is in
 * tests/unwind, states that no honest program is in are in wild_test.c.
 */
#include "record/unwind/test_internal.h"

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

/* Each result shares with the one before at least what it says. */
static uintptr_t before[4096];
static uint32_t before_n;

/* What was told of each number, as whoever is told them has it. */
static struct {
	uintptr_t pcs[64];
	uint32_t depth;
} numbered[HL_UNWIND_NUMBERS];
static bool tells;
static uint32_t by_number, known_before;

static void tell(void)
{
	if (!tells || !last.number || last.depth > 64)
		return;
	memcpy(numbered[last.number - 1].pcs, last.pcs, last.depth * sizeof(uintptr_t));
	numbered[last.number - 1].depth = last.depth;
	hl_unwind_tell(u, &last);
}

/* The stack is the one that was said to be known, innermost first in `full`. */
static void assert_known(const uintptr_t *pcs, uint32_t depth)
{
	assert_int_equal(depth, full_n);
	for (uint32_t i = 0; i < depth; i++)
		assert_int_equal(pcs[depth - 1 - i], full[i]);
	known_before++;
}

static void check_again(void)
{
	if (last_again & HL_LAST_NUMBER) {
		uint32_t n = last_again & ~HL_LAST_NUMBER;

		assert_true(last.told && n == last.number - 1);
		assert_known(numbered[n].pcs, numbered[n].depth);
	} else if (last_again) {
		assert_int_equal(last_again, before_n);
		assert_int_equal(serial_before + 1, last.serial);
		assert_known(before, before_n);
	} else if (again.what == HL_AGAIN_NUMBER) {
		assert_true(last.told && again.n == last.number - 1);
		assert_known(numbered[again.n].pcs, numbered[again.n].depth);
	}
	assert_true(again.what == HL_AGAIN_ASK || again.serial + 1 == last.serial);
}

static void check_common(void)
{
	event();
	assert_same();
	check_again();
	if (last.told) {
		assert_int_equal(last.depth, numbered[last.number - 1].depth);
		assert_memory_equal(
			last.pcs, numbered[last.number - 1].pcs, last.depth * sizeof(uintptr_t));
		by_number++;
		return;
	}
	tell();
	assert_true(last.common <= last.depth && last.common <= before_n && last.depth <= 4096);
	assert_memory_equal(last.pcs, before, last.common * sizeof(uintptr_t));
	memcpy(before, last.pcs, last.depth * sizeof(uintptr_t));
	before_n = last.depth;
}

/* Two places by turns, each with frames of its own: stacks that come back are not walked again. */
static hl_noinline void aside_inner(void)
{
	check_common();
}

static hl_noinline void aside(void)
{
	aside_inner();
	assert_true(last.depth > 3);
}

static hl_noinline void by_turns(void)
{
	struct hl_unwind_counts a, b;

	for (int i = 0; i < 200; i++) {
		uint32_t tries = u->ways.tries;

		hl_unwinder_counts(u, &a);
		if (i % 2)
			aside();
		else
			down(5, check_common);
		hl_unwinder_counts(u, &b);
		assert_true(i < 10 || b.walked == a.walked || u->ways.tries != tries);
	}
}

static void ways(void **state)
{
	hl_unwinder_reset(u);
	down(20, by_turns);
	/* The same places, but what leads to them is another: nothing old is believed. */
	down(21, by_turns);
}

/* Wherever the stack lies: two that come by turns do not keep each other from being remembered. */
static void ways_anywhere(void **state)
{
	for (size_t i = 0; i < 2000; i++) {
		volatile char *room = alloca(16);

		room[0] = 0;
		hl_unwinder_reset(u);
		down(20, by_turns);
	}
}

/* What a stack that was found takes to walk is tried now and then. Where it is little, and many
 * others are not found, none are looked for, until that is tried again. */
static hl_noinline void far_off(void)
{
	down(5, check_common);
	aside();
}

static uint32_t passes(uint32_t walked, uint32_t missed)
{
	u->ways.missed = missed;
	for (int i = 0; i < 16; i++) {
		assert_int_equal(u->ways.pass, 0);
		hl_ways_judge(&u->ways, walked);
	}
	return u->ways.pass;
}

/* It is found that they do not pay, and for so many unwinds none is found. */
static void without_ways(uint32_t n)
{
	uint32_t found = u->ways.found, left = passes(1, 10000);

	assert_int_equal(left, n);
	for (; left; left -= 2) {
		far_off();
		assert_int_equal(u->ways.pass, left - 2);
		assert_int_equal(u->ways.found, found);
	}
}

static void ways_pay(void **state)
{
	hl_unwinder_reset(u);
	for (int i = 0; i < 20000; i++) {
		far_off();
		assert_int_equal(u->ways.pass, 0);
	}
	assert_true(u->ways.found > 16 * 257);
	hl_unwinder_reset(u);
	far_off(); /* the first one after that forgets all */
	assert_int_equal(passes(1, 0), 0);
	assert_int_equal(passes(2, 10000), 0);
	without_ways(65536);
	/* How many lookups each takes depends on the compiler: it ends before the 257th is tried. */
	for (int i = 0; i < 100 && u->ways.found <= 50; i++)
		far_off();
	assert_true(u->ways.found > 50);
	assert_int_equal(u->ways.tries, 0);
	without_ways(131072);
	assert_int_equal(passes(1, 0), 0);
	without_ways(65536);
}

/* Stacks that come back have a number; once it is told it stands for them, until it is untold. */
static void numbers(void **state)
{
	hl_unwinder_reset(u);
	tells = true;
	by_number = known_before = 0;
	down(20, by_turns);
	assert_true(by_number > 80); /* the other place is the memo's */
	assert_true(known_before > 160);
	hl_unwind_untell(u);
	by_number = 0;
	aside();
	down(5, check_common);
	assert_int_equal(by_number, 0);
	tells = false;
	hl_unwind_untell(u);
}

/* Down by another way each time, through frames of different sizes. */
static hl_noinline void zag(uint32_t depth);

static hl_noinline void zig(uint32_t depth)
{
	if (depth == 0)
		check_common();
	else if (rnd(3))
		zag(depth - 1);
	else
		zig(depth - 1);
	sink++;
}

static hl_noinline void zag(uint32_t depth)
{
	volatile char room[40];

	room[0] = (char)depth;
	zig(depth);
	sink += room[0];
}

/* A number that was offered to another stack in the meantime is that one's, whoever is told first:
 * a handler's record is the later one. */
static void told_too_late(void **state)
{
	struct hl_stack first;

	hl_unwinder_reset(u);
	before_n = 0;
	zig(20);
	first = last;
	assert_true(first.number && !first.told);
	for (int i = 0; i < 100000 && (last.number != first.number || last.key == first.key); i++)
		zig(rnd(60));
	assert_true(last.number == first.number && last.key != first.key && !last.told);
	hl_unwind_tell(u, &first);
	assert_int_equal(u->numbers.keys[first.number - 1], last.serial * 2);
	hl_unwind_tell(u, &last);
	assert_int_equal(u->numbers.keys[first.number - 1], last.key);
	hl_unwind_tell(u, &first);
	assert_int_equal(u->numbers.keys[first.number - 1], last.key);
}

/* Next to nothing is remembered then, and the little that matches belongs to the stack all the
 * same. */
static void mostly_new(void **state)
{
	hl_unwinder_reset(u);
	before_n = 0;
	for (int i = 0; i < 3000; i++)
		zig(rnd(200));
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
	known_before = 0;
	for (int i = 0; i < 600; i++) {
		if (i % 300 == 0)
			hl_unwinder_reset(u);
		tells = i >= 300;
		wander(60);
	}
	assert_true(known_before > 1000);
	tells = false;
	hl_unwind_untell(u);
}

/* Stacks of one shape, which differ in where each frame calls the next. */
static void (*turn_end)(void) = check_common;

static hl_noinline void turn(uint32_t path, uint32_t depth)
{
	if (depth == 0) {
		turn_end();
	} else if (path & 1) {
		turn(path >> 1, depth - 1);
		__asm__ volatile("" ::: "memory");
	} else {
		/* a second place, which no compiler makes one of with the first */
		__asm__ volatile("nop" ::: "memory");
		turn(path >> 1, depth - 1);
		__asm__ volatile("nop" ::: "memory");
	}
}

/* Four more frames, the same for all callers. */
static void wrapped(void)
{
	down(3, check_common);
}

enum { CALLERS = 16, CALLER_BITS = 4 };

/* How many of n unwinds walk a frame, once all stacks have come several times. Each is of one of 16
 * stacks, in random order. */
static hl_noinline uint32_t walks_of_callers(uint32_t n)
{
	uint32_t walks = 0;

	for (uint32_t i = 0; i < n + 20 * CALLERS; i++) {
		struct hl_unwind_counts a, b;

		hl_unwinder_counts(u, &a);
		turn(rnd(CALLERS), CALLER_BITS);
		hl_unwinder_counts(u, &b);
		walks += i >= 20 * CALLERS && b.walked != a.walked;
	}
	return walks;
}

/* Stacks that have the innermost pc and the stack pointer in common, as behind an allocation
 * wrapper, are all found again. */
static void callers_of_wrappers(void **state)
{
	void (*const ends[])(void) = {check_common, wrapped};

	for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++) {
		hl_unwinder_reset(u);
		turn_end = ends[i];
		assert_true(walks_of_callers(2000) < 2000 / 20);
		assert_int_equal(u->ways.pass, 0);
	}
	turn_end = check_common;
}

/* Wherever the stack lies, also across the end of a page. */
static void callers_anywhere(void **state)
{
	turn_end = wrapped;
	for (size_t i = 0; i < 4096 / 64; i++) {
		volatile char *room = alloca(64);

		room[0] = 0;
		hl_unwinder_reset(u);
		assert_true(walks_of_callers(400) < 400 / 10);
	}
	turn_end = check_common;
}

/*
 * A stack that comes back and has lost its number is sent whole. Those after it are known by
 * theirs, and one that is not shares frames with that one, not with what has come to lie in its
 * place.
 */
enum { OTHERS = 127, ROUNDS = 4, TURNS = ROUNDS * (OTHERS + 64) + 5 + OTHERS + 1 };
static uint32_t paths[TURNS];
static int lose, again_at;

static void plan_turns(void)
{
	int n = 0;

	for (int r = 0; r < ROUNDS; r++) {
		for (uint32_t i = 0; i < OTHERS; i++)
			paths[n++] = i << 1 | 1;
		for (uint32_t i = 0; i < 64; i++)
			paths[n++] = i & 1;
	}
	/* Something new takes the memo, so that the stack is walked, then that it is found. */
	paths[n++] = 6;
	lose = n;
	paths[n++] = 0;
	paths[n++] = 1;
	paths[n++] = 2;
	again_at = n;
	paths[n++] = 0;
	for (uint32_t i = 0; i <= OTHERS; i++)
		paths[n++] = i << 1 | 1;
	assert_int_equal(n, TURNS);
}

static hl_noinline void look_at_turn(int i)
{
	if (i == lose) {
		assert_true(last.told);
		u->numbers.keys[last.number - 1] = 0;
		u->quick.sp = 0;
	} else if (i == again_at) {
		assert_true(last.number && !last.told && u->last_way);
	}
}

/* All from one place, or they would be others. */
static hl_noinline void after_a_lost_number(void)
{
	for (int i = 0; i < TURNS; i++) {
		turn(paths[i], 8);
		look_at_turn(i);
	}
	assert_false(last.told);
}

static void lost_numbers(void **state)
{
	hl_unwinder_reset(u);
	before_n = 0;
	tells = true;
	plan_turns();
	down(20, after_a_lost_number);
	tells = false;
	hl_unwind_untell(u);
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
	assert_int_equal(hl_unwind_last_again(u, &start, hl_unwind_serial(u)), 0);
	assert_int_equal(hl_unwind_way_again(u, &start).what, HL_AGAIN_ASK);
	assert_int_equal(hl_unwind(u, &start, &s), -EBUSY);
	assert_int_equal(hl_unwind_new(u, &start, &s), -EBUSY);
	full_n = 0;
	full_cut = hl_unwind_full(&start, add, NULL);
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
	assert_true(hl_unwind_is_current(&mine));
	event();
	assert_false(hl_unwind_is_current(&mine));
	assert_true(hl_unwind_is_current(&last));
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

/*
 * A handler unwinds a deeper stack than there is room for, while whom it interrupts reads the pcs
 * of his result, or compares the last stack: then what he reads must stay.
 */
static void what_is_read_stays(void **state)
{
	const uintptr_t *pcs;
	uintptr_t outermost;

	hl_unwinder_reset(u);
	down(2000, event);
	assert_same();
	pcs = last.pcs;
	outermost = pcs[0];
	u->reading = true;
	down(6000, event); /* which compares, too, and is done with that before */
	assert_same();
	assert_true(last.pcs != pcs);
	assert_true(hl_arch_readable((uintptr_t)pcs));
	assert_int_equal(pcs[0], outermost);
	u->reading = false;
	pcs = last.pcs;
	down(20000, event);
	assert_same();
	assert_true(last.pcs != pcs);
	assert_true(hl_arch_readable((uintptr_t)pcs));
	assert_true(hl_arch_readable((uintptr_t)(pcs + 6000)));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_little),
		cmocka_unit_test(ways),
		cmocka_unit_test(ways_anywhere),
		cmocka_unit_test(ways_pay),
		cmocka_unit_test(numbers),
		cmocka_unit_test(told_too_late),
		cmocka_unit_test(mostly_new),
		cmocka_unit_test(common_is_common),
		cmocka_unit_test(lost_numbers),
		cmocka_unit_test(callers_of_wrappers),
		cmocka_unit_test(callers_anywhere),
		cmocka_unit_test(busy_inside),
		cmocka_unit_test(leaving_heals),
		cmocka_unit_test(overtaken),
		cmocka_unit_test(deeper_than_the_memo),
		cmocka_unit_test(what_is_read_stays),
		cmocka_unit_test(small_on_the_stack),
		cmocka_unit_test(takes_over),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
