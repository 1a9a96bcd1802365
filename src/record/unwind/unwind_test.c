/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_test.c - tests of each guarantee in unwind.h. The comparison with other unwinders is in
 * tests/unwind; invalid states are tested in wild_test.c.
 */
#include "record/unwind/test_unwind.h"

static void check_walked_frames(void)
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
		assert_equals_full();
		assert_true(b.walked - a.walked <= 2);
		assert_true(b.verified - a.verified >= 60);
	}
}

static void walks_only_changed_frames(void **state)
{
	down(60, check_walked_frames);
}

/* The base result: each result shares with it at least the frames that it claims. */
static uintptr_t base_pcs[4096];
static uint32_t base_depth;

/* The stacks that were sent with each id, as the collector has them. */
static struct {
	uintptr_t pcs[64];
	uint32_t depth;
} sent_stacks[HL_STACK_IDS];
static bool sends_ids;
static uint32_t n_known_by_id, n_known_by_lookup;

static void send_id(void)
{
	if (!sends_ids || !last.id_plus_1 || last.depth > 64)
		return;
	memcpy(sent_stacks[last.id_plus_1 - 1].pcs, last.pcs, last.depth * sizeof(uintptr_t));
	sent_stacks[last.id_plus_1 - 1].depth = last.depth;
	hl_unwind_mark_sent(u, &last);
}

/* The stack that was reported as known equals the full unwind; `full` is innermost first. */
static void assert_known(const uintptr_t *pcs, uint32_t depth)
{
	assert_int_equal(depth, full_n);
	for (uint32_t i = 0; i < depth; i++)
		assert_int_equal(pcs[depth - 1 - i], full[i]);
	n_known_by_lookup++;
}

static void check_lookup(void)
{
	if (last_stack_result & HL_LAST_STACK_ID) {
		uint32_t n = last_stack_result & ~HL_LAST_STACK_ID;

		assert_true(last.id_sent && n == last.id_plus_1 - 1);
		assert_known(sent_stacks[n].pcs, sent_stacks[n].depth);
	} else if (last_stack_result) {
		assert_int_equal(last_stack_result, base_depth);
		assert_int_equal(serial_before + 1, last.serial);
		assert_known(base_pcs, base_depth);
	} else if (lookup.result == HL_LOOKUP_ID) {
		assert_true(last.id_sent && lookup.id == last.id_plus_1 - 1);
		assert_known(sent_stacks[lookup.id].pcs, sent_stacks[lookup.id].depth);
	}
	assert_true(lookup.result == HL_LOOKUP_UNWIND || lookup.serial + 1 == last.serial);
}

static void check_event(void)
{
	event();
	assert_equals_full();
	check_lookup();
	if (last.id_sent) {
		assert_int_equal(last.depth, sent_stacks[last.id_plus_1 - 1].depth);
		assert_memory_equal(last.pcs, sent_stacks[last.id_plus_1 - 1].pcs,
			last.depth * sizeof(uintptr_t));
		n_known_by_id++;
		return;
	}
	send_id();
	assert_true(last.shared <= last.depth && last.shared <= base_depth && last.depth <= 4096);
	assert_memory_equal(last.pcs, base_pcs, last.shared * sizeof(uintptr_t));
	memcpy(base_pcs, last.pcs, last.depth * sizeof(uintptr_t));
	base_depth = last.depth;
}

/* Two sites alternately, each with its own frames: stacks that recur are not walked again. */
static hl_noinline void other_site_inner(void)
{
	check_event();
}

static hl_noinline void other_site(void)
{
	other_site_inner();
	assert_true(last.depth > 3);
}

static hl_noinline void alternate_sites(void)
{
	struct hl_unwind_counts a, b;

	for (int i = 0; i < 200; i++) {
		uint32_t trials_before = u->cache.trials;

		hl_unwinder_counts(u, &a);
		if (i % 2)
			other_site();
		else
			down(5, check_event);
		hl_unwinder_counts(u, &b);
		assert_true(i < 10 || b.walked == a.walked || u->cache.trials != trials_before);
	}
}

static void recurring_stacks_are_not_walked(void **state)
{
	hl_unwinder_reset(u);
	down(20, alternate_sites);
	/* The same sites, but called by other frames: nothing old is trusted. */
	down(21, alternate_sites);
}

/* At any stack address: two alternating stacks do not keep each other out of the cache. */
static void recurring_stacks_are_found_at_any_address(void **state)
{
	for (size_t i = 0; i < 2000; i++) {
		volatile char *room = alloca(16);

		room[0] = 0;
		hl_unwinder_reset(u);
		down(20, alternate_sites);
	}
}

/*
 * Now and then a cached stack is walked, to count the frames. If these are few and there are many
 * misses, lookups are skipped for a while, and then tried again.
 */
static hl_noinline void two_sites(void)
{
	down(5, check_event);
	other_site();
}

static uint32_t skip_after_trials(uint32_t walked, uint32_t misses)
{
	u->cache.misses = misses;
	for (int i = 0; i < 16; i++) {
		assert_int_equal(u->cache.skip, 0);
		hl_stack_cache_note_walk(&u->cache, walked);
	}
	return u->cache.skip;
}

/* The cache does not pay: there are no hits for n unwinds. */
static void expect_skipped(uint32_t n)
{
	uint32_t hits_before = u->cache.hits, left = skip_after_trials(1, 10000);

	assert_int_equal(left, n);
	for (; left; left -= 2) {
		two_sites();
		assert_int_equal(u->cache.skip, left - 2);
		assert_int_equal(u->cache.hits, hits_before);
	}
}

static void cache_is_skipped_while_it_does_not_pay(void **state)
{
	hl_unwinder_reset(u);
	for (int i = 0; i < 20000; i++) {
		two_sites();
		assert_int_equal(u->cache.skip, 0);
	}
	assert_true(u->cache.hits > 16 * 257);
	hl_unwinder_reset(u);
	two_sites(); /* the first unwind after a reset forgets everything */
	assert_int_equal(skip_after_trials(1, 0), 0);
	assert_int_equal(skip_after_trials(2, 10000), 0);
	expect_skipped(65536);
	/*
	 * The number of lookups of each call depends on the compiler: this ends before the 257th
	 * hit, the next trial.
	 */
	for (int i = 0; i < 100 && u->cache.hits <= 50; i++)
		two_sites();
	assert_true(u->cache.hits > 50);
	assert_int_equal(u->cache.trials, 0);
	expect_skipped(131072);
	assert_int_equal(skip_after_trials(1, 0), 0);
	expect_skipped(65536);
}

/* Stacks that recur have an id. Once it is sent it identifies them, until the ids are forgotten. */
static void sent_ids_identify_stacks(void **state)
{
	hl_unwinder_reset(u);
	sends_ids = true;
	n_known_by_id = n_known_by_lookup = 0;
	down(20, alternate_sites);
	assert_true(n_known_by_id > 80); /* the other site is found by the memo */
	assert_true(n_known_by_lookup > 160);
	hl_unwind_forget_ids(u);
	n_known_by_id = 0;
	other_site();
	down(5, check_event);
	assert_int_equal(n_known_by_id, 0);
	sends_ids = false;
	hl_unwind_forget_ids(u);
}

/* A different path each time, through frames of different sizes. */
static hl_noinline void zag(uint32_t depth);

static hl_noinline void zig(uint32_t depth)
{
	if (depth == 0)
		check_event();
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

/*
 * An id that was offered to another stack in the meantime belongs to that stack, whichever is
 * marked first: the record of a handler is the later one.
 */
static void late_mark_sent_is_ignored(void **state)
{
	struct hl_stack first;

	hl_unwinder_reset(u);
	base_depth = 0;
	zig(20);
	first = last;
	assert_true(first.id_plus_1 && !first.id_sent);
	for (int i = 0; i < 100000 && (last.id_plus_1 != first.id_plus_1 || last.key == first.key);
		i++)
		zig(rnd(60));
	assert_true(last.id_plus_1 == first.id_plus_1 && last.key != first.key && !last.id_sent);
	hl_unwind_mark_sent(u, &first);
	assert_int_equal(u->ids.keys[first.id_plus_1 - 1], last.serial * 2);
	hl_unwind_mark_sent(u, &last);
	assert_int_equal(u->ids.keys[first.id_plus_1 - 1], last.key);
	hl_unwind_mark_sent(u, &first);
	assert_int_equal(u->ids.keys[first.id_plus_1 - 1], last.key);
}

/*
 * If stacks are mostly new, almost nothing is remembered. The few frames that match must still
 * belong to the stack.
 */
static void mostly_new_stacks_are_exact(void **state)
{
	hl_unwinder_reset(u);
	base_depth = 0;
	for (int i = 0; i < 3000; i++)
		zig(rnd(200));
}

static hl_noinline void wander(int budget)
{
	while (budget > 0) {
		switch (rnd(5)) {
		case 0:
			check_event();
			break;
		case 1:
			check_event();
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

static void shared_prefix_is_in_base_result(void **state)
{
	n_known_by_lookup = 0;
	for (int i = 0; i < 600; i++) {
		if (i % 300 == 0)
			hl_unwinder_reset(u);
		sends_ids = i >= 300;
		wander(60);
	}
	assert_true(n_known_by_lookup > 1000);
	sends_ids = false;
	hl_unwind_forget_ids(u);
}

/* Stacks of the same shape that differ in the call site of each frame. */
static void (*path_end)(void) = check_event;

static hl_noinline void call_path(uint32_t path, uint32_t depth)
{
	if (depth == 0) {
		path_end();
	} else if (path & 1) {
		call_path(path >> 1, depth - 1);
		__asm__ volatile("" ::: "memory");
	} else {
		/* a second call site, which compilers do not merge with the first */
		__asm__ volatile("nop" ::: "memory");
		call_path(path >> 1, depth - 1);
		__asm__ volatile("nop" ::: "memory");
	}
}

/* Four more frames, the same for all callers. */
static void wrapped(void)
{
	down(3, check_event);
}

enum { CALLERS = 16, CALLER_BITS = 4 };

/*
 * The number of n unwinds that walk a frame, once all stacks have occurred several times. Each
 * unwind is of one of 16 stacks, in random order.
 */
static hl_noinline uint32_t count_walks(uint32_t n)
{
	uint32_t walks = 0;

	for (uint32_t i = 0; i < n + 20 * CALLERS; i++) {
		struct hl_unwind_counts a, b;

		hl_unwinder_counts(u, &a);
		call_path(rnd(CALLERS), CALLER_BITS);
		hl_unwinder_counts(u, &b);
		walks += i >= 20 * CALLERS && b.walked != a.walked;
	}
	return walks;
}

/*
 * Stacks with the same innermost pc and stack pointer, as behind an allocation wrapper, are all
 * found again.
 */
static void callers_behind_wrappers_are_found(void **state)
{
	void (*const ends[])(void) = {check_event, wrapped};

	for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++) {
		hl_unwinder_reset(u);
		path_end = ends[i];
		assert_true(count_walks(2000) < 2000 / 20);
		assert_int_equal(u->cache.skip, 0);
	}
	path_end = check_event;
}

/*
 * At any stack address, also across the end of a page. A hash of addresses selects the set of a
 * stack, so at few addresses several stacks share a set and are not all found.
 */
static void callers_are_found_at_any_address(void **state)
{
	unsigned crowded = 0;

	path_end = wrapped;
	for (size_t i = 0; i < 4096 / 64; i++) {
		volatile char *room = alloca(64);

		room[0] = 0;
		hl_unwinder_reset(u);
		crowded += count_walks(400) >= 400 / 10;
	}
	assert_true(crowded <= 2);
	path_end = check_event;
}

/*
 * A recurring stack that has lost its id is sent in full. Later stacks are known by their ids. The
 * first one that is not shares frames with the stack that was sent in full, not with one that has
 * overwritten it in the cache.
 */
enum { OTHERS = 127, ROUNDS = 4, N_PATHS = ROUNDS * (OTHERS + 64) + 5 + OTHERS + 1 };
static uint32_t paths[N_PATHS];
static int lose_at, cached_at;
static bool lost_id, found_again; /* the stack lost an id; it was found in the cache after that */

static void plan_paths(void)
{
	int n = 0;

	for (int r = 0; r < ROUNDS; r++) {
		for (uint32_t i = 0; i < OTHERS; i++)
			paths[n++] = i << 1 | 1;
		for (uint32_t i = 0; i < 64; i++)
			paths[n++] = i & 1;
	}
	/*
	 * A new stack takes the memo, so that the stack is walked at first; later it is found in
	 * the cache.
	 */
	paths[n++] = 6;
	lose_at = n;
	paths[n++] = 0;
	paths[n++] = 1;
	paths[n++] = 2;
	cached_at = n;
	paths[n++] = 0;
	for (uint32_t i = 0; i <= OTHERS; i++)
		paths[n++] = i << 1 | 1;
	assert_int_equal(n, N_PATHS);
}

static hl_noinline void check_path(int i)
{
	if (i == lose_at && last.id_sent) {
		lost_id = true;
		u->ids.keys[last.id_plus_1 - 1] = 0;
		u->last_stack.sp = 0;
	} else if (i == cached_at && lost_id) {
		assert_false(last.id_sent);
		found_again = last.id_plus_1 && u->base_cached;
	}
}

/* All from one call site, or the stacks would differ. */
static hl_noinline void run_paths(void)
{
	for (int i = 0; i < N_PATHS; i++) {
		call_path(paths[i], 8);
		check_path(i);
	}
	assert_true(!found_again || !last.id_sent);
}

static void stack_without_its_id_is_sent_again(void **state)
{
	base_depth = 0;
	sends_ids = true;
	found_again = false;
	plan_paths();
	/* At few stack addresses another stack has taken the place of the stack or of its id. */
	for (size_t i = 0; i < 8 && !found_again; i++) {
		volatile char *room = alloca(64);

		room[0] = 0;
		lost_id = false;
		hl_unwinder_reset(u);
		down(20, run_paths);
	}
	assert_true(found_again);
	sends_ids = false;
	hl_unwind_forget_ids(u);
}

/*
 * The module callback runs inside hl_unwind(): equivalent to a signal handler, but at a known
 * point.
 */
static bool nested_called, leave_by_longjmp;
static jmp_buf jump_out;

static void nested_unwind(const struct hl_unwind_module *module)
{
	struct hl_regs start;
	struct hl_stack s;

	HL_ARCH_CAPTURE(&start);
	if (nested_called)
		return;
	nested_called = true;
	assert_int_equal(hl_unwind_is_last_stack(u, &start, hl_unwind_serial(u)), 0);
	assert_int_equal(hl_unwind_lookup(u, &start).result, HL_LOOKUP_UNWIND);
	assert_int_equal(hl_unwind(u, &start, &s), -EBUSY);
	assert_int_equal(hl_unwind_after_miss(u, &start, &s), -EBUSY);
	full_n = 0;
	full_cut = hl_unwind_full(&start, add_full_pc, NULL);
	assert_true(full_n > 5);
	if (leave_by_longjmp)
		longjmp(jump_out, 1);
}

static void nested_unwind_is_busy(void **state)
{
	event();
	hl_unwind_init(nested_unwind);
	hl_unwind_bump();
	nested_called = leave_by_longjmp = false;
	event();
	assert_true(nested_called);
	assert_equals_full();
	hl_unwind_init(NULL);
}

static hl_noinline void clobber(void)
{
	volatile char bytes[4096];

	memset((char *)bytes, 0x55, sizeof(bytes));
	sink += bytes[5];
}

static void recovers_after_longjmp(void **state)
{
	hl_unwind_init(nested_unwind);
	hl_unwind_bump();
	nested_called = false;
	leave_by_longjmp = true;
	if (!setjmp(jump_out)) {
		down(10, event);
		fail();
	}
	assert_true(nested_called);
	clobber();       /* any call overwrites the token */
	down(30, event); /* deeper than the abandoned frame */
	assert_equals_full();
	event();
	assert_equals_full();
	hl_unwind_init(NULL);
}

static void later_unwind_makes_result_stale(void **state)
{
	struct hl_stack earlier;

	event();
	earlier = last;
	assert_true(hl_unwind_is_current(&earlier));
	event();
	assert_false(hl_unwind_is_current(&earlier));
	assert_true(hl_unwind_is_current(&last));
}

static hl_noinline int very_deep(int depth)
{
	int n = 0;

	if (depth % 5000 == 0) {
		event();
		if (full_n <= HL_MEMO_FRAMES / 2) {
			assert_equals_full();
			assert_false(last.truncated);
		} else {
			assert_int_equal(last_err, 0);
			assert_true(last.depth >= 1000 && last.depth <= full_n);
			assert_true(last.truncated == (last.depth < full_n));
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

static ucontext_t main_context;

/* Calls fn on a new stack of this size. Returns how many bytes of it were used. */
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
	task.uc_link = &main_context;
	makecontext(&task, fn, 0);
	swapcontext(&main_context, &task);
	while (size < (1 << 20) && unused < size && (uint8_t)p[unused] == 0xa5)
		unused++;
	munmap(p, size);
	return size - unused;
}

static void stack_deeper_than_the_memo(void **state)
{
	on_stack((size_t)256 << 20, deep_main);
	event();
	assert_equals_full();
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

static void do_nothing(void)
{
	sink++;
}

static void uses_little_stack(void **state)
{
	size_t baseline = on_stack(65536, do_nothing), cold, warm;

	hl_unwind_bump();
	cold = on_stack(65536, only_unwind_twice) - baseline;
	warm = on_stack(65536, only_unwind_twice) - baseline;
	print_message("stack used: %zu bytes with cold rules, %zu with warm ones\n", cold, warm);
	assert_true(warm < 1024 + 256);
	assert_true(cold < 2048 + 512);
}

/*
 * A handler unwinds a deeper stack than the arrays can hold, while the interrupted function reads
 * the pcs of its result or compares the last stack. The memory that it reads must stay.
 */
static void arrays_stay_while_read(void **state)
{
	const uintptr_t *pcs;
	uintptr_t outermost;

	hl_unwinder_reset(u);
	down(2000, event);
	assert_equals_full();
	pcs = last.pcs;
	outermost = pcs[0];
	u->reading = true;
	down(6000, event); /* this compares the last stack too, and has finished that before it
			      unwinds */
	assert_equals_full();
	assert_true(last.pcs != pcs);
	assert_true(hl_arch_readable((uintptr_t)pcs));
	assert_int_equal(pcs[0], outermost);
	u->reading = false;
	pcs = last.pcs;
	down(20000, event);
	assert_equals_full();
	assert_true(last.pcs != pcs);
	assert_true(hl_arch_readable((uintptr_t)pcs));
	assert_true(hl_arch_readable((uintptr_t)(pcs + 6000)));
}

static void reset_forgets_everything(void **state)
{
	struct hl_unwind_counts c;

	event();
	hl_unwinder_reset(u);
	hl_unwinder_counts(u, &c);
	assert_int_equal(c.unwinds, 0);
	event();
	assert_equals_full();
	assert_int_equal(last.shared, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_only_changed_frames),
		cmocka_unit_test(recurring_stacks_are_not_walked),
		cmocka_unit_test(recurring_stacks_are_found_at_any_address),
		cmocka_unit_test(cache_is_skipped_while_it_does_not_pay),
		cmocka_unit_test(sent_ids_identify_stacks),
		cmocka_unit_test(late_mark_sent_is_ignored),
		cmocka_unit_test(mostly_new_stacks_are_exact),
		cmocka_unit_test(shared_prefix_is_in_base_result),
		cmocka_unit_test(stack_without_its_id_is_sent_again),
		cmocka_unit_test(callers_behind_wrappers_are_found),
		cmocka_unit_test(callers_are_found_at_any_address),
		cmocka_unit_test(nested_unwind_is_busy),
		cmocka_unit_test(recovers_after_longjmp),
		cmocka_unit_test(later_unwind_makes_result_stale),
		cmocka_unit_test(stack_deeper_than_the_memo),
		cmocka_unit_test(arrays_stay_while_read),
		cmocka_unit_test(uses_little_stack),
		cmocka_unit_test(reset_forgets_everything),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
