/* live_test.c - the table of live blocks against a plain array, through several growths. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/live.h"

#define ADDRESSES 60000u

static uint64_t address(uint32_t i)
{
	return UINT64_C(0x7f0000000000) + i * UINT64_C(16);
}

/* In parts of the heap whose places overlap. */
static uint64_t apart(uint32_t i)
{
	return address(i) + (uint64_t)(i % 16) * (UINT64_C(1) << 32);
}

static struct hl_live_entry entry(uint32_t i, uint64_t ordinal)
{
	struct hl_live_entry e = {
		.addr = apart(i),
		.ordinal_thread = ordinal << 24 | (ordinal & 0xff),
		.size_birth = (ordinal * 3) << 16 | ((ordinal >> 32) & 0xffff),
		.birth_node = ordinal << 32 | ((uint32_t)ordinal ^ 0x5555),
	};

	return e;
}

static void count(void *arg, const struct hl_live_entry *e)
{
	uint64_t *n = arg;

	n[0]++;
	n[1] += hl_live_ordinal(e);
}

/* By the short way if it is open, and `of` counts how often. */
static struct hl_live_entry *insert(struct hl_live *l, uint64_t addr, uint32_t *of)
{
	struct hl_live_entry *e = NULL;

	if (!l->places)
		e = hl_live_insert_home(l, addr, hl_live_line(l, addr));
	else if (hl_live_revive(l, hl_live_place(l, addr), addr))
		e = hl_live_place(l, addr);
	*of += e != NULL;
	return e ? e : hl_live_insert(l, addr);
}

static bool take_from_place(struct hl_live *l, uint64_t addr, struct hl_live_entry *out)
{
	struct hl_live_entry *place = hl_live_place(l, addr);

	if (place->addr != addr)
		return false;
	*out = *place;
	hl_live_die(l, place);
	return true;
}

static bool take_from_home(struct hl_live *l, uint64_t addr, struct hl_live_entry *out)
{
	struct hl_live_line *line = hl_live_line(l, addr);
	uint32_t slot;
	struct hl_live_entry *e = hl_live_find_home(l, addr, line, &slot);

	if (!e)
		return false;
	*out = *e;
	hl_live_remove_home(l, e, line, slot);
	return true;
}

static bool take(struct hl_live *l, uint64_t addr, struct hl_live_entry *out, uint32_t *of)
{
	bool taken = (l->places && take_from_place(l, addr, out)) || take_from_home(l, addr, out);

	*of += taken;
	return taken || hl_live_take(l, addr, out);
}

/* So many blocks, none of which has died, that places do not pay. */
static void lose_places(struct hl_live *l, uint64_t from)
{
	for (uint64_t i = 0; l->places; i++) {
		assert_true(i < 1000000);
		assert_non_null(hl_live_insert(l, from + i * 64));
		hl_live_look(l);
	}
}

/* More coming than going, then all going: every find and take must agree with the array. */
static void agrees_with_an_array(size_t limit, bool places)
{
	static uint64_t truth[ADDRESSES]; /* ordinal + 1, 0: not live */
	uint64_t ordinal = 0, live = 0, sum = 0, seen[2] = {0}, others;
	uint32_t short_ways[2] = {0};
	struct hl_live l;
	struct hl_live_entry got;
	int dir = open("/tmp", O_PATH | O_DIRECTORY);

	for (uint32_t i = 0; i < ADDRESSES; i++)
		truth[i] = 0;
	assert_int_equal(hl_live_init(&l, limit, dir), 0);
	if (!places)
		lose_places(&l, UINT64_C(0x560000000010));
	others = hl_live_blocks(&l);
	srand(7);
	for (int step = 0; step < 400000; step++) {
		uint32_t i = (uint32_t)rand() % ADDRESSES;

		hl_live_grow_on(&l, 1);
		hl_live_prefetch_entry(&l, apart(i), hl_live_line(&l, apart(i)));
		assert_int_equal(hl_live_find(&l, apart(i)) != NULL, truth[i] != 0);
		if (truth[i] && !l.places)
			assert_null(hl_live_insert_home(&l, apart(i), hl_live_line(&l, apart(i))));
		if (truth[i] && l.places)
			assert_true(hl_live_place(&l, apart(i))->addr != ~apart(i));
		if (!truth[i] && rand() % 3) {
			struct hl_live_entry e = entry(i, ordinal);

			struct hl_live_entry *slot = step % 4 ? insert(&l, e.addr, &short_ways[0])
							      : hl_live_insert(&l, e.addr);

			assert_non_null(slot);
			assert_true(slot->addr == e.addr);
			*slot = e;
			truth[i] = ++ordinal;
			live++;
		} else if (truth[i]) {
			assert_true(step % 4 ? take(&l, apart(i), &got, &short_ways[1])
					     : hl_live_take(&l, apart(i), &got));
			assert_int_equal(hl_live_ordinal(&got), truth[i] - 1);
			assert_int_equal(hl_live_size(&got), (truth[i] - 1) * 3);
			truth[i] = 0;
			live--;
		}
		assert_int_equal(hl_live_blocks(&l), others + live);
	}
	for (uint32_t i = 0; i < ADDRESSES; i++)
		sum += truth[i] ? truth[i] - 1 : 0;
	assert_int_equal(l.pushed > 1000, places);
	/* some of them, or they are not ways */
	assert_true(short_ways[0] > ordinal / 4 && short_ways[1] > (ordinal - live) / 2);
	hl_live_each(&l, count, seen);
	assert_int_equal(seen[0], others + live);
	assert_int_equal(seen[1], sum);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		assert_int_equal(hl_live_take(&l, apart(i), &got), truth[i] != 0);
	assert_int_equal(hl_live_blocks(&l), others);
	hl_live_fini(&l);
	close(dir);
}

static void in_memory(void **state)
{
	agrees_with_an_array(SIZE_MAX, false);
}

static void in_a_file(void **state)
{
	agrees_with_an_array(1024, false);
}

/* Whatever comes: they push each other out, and are found. */
static void in_places(void **state)
{
	agrees_with_an_array(SIZE_MAX, true);
}

/* Blocks stay, then most die young, then they stay again. */
static void places_come_and_go(void **state)
{
	uint64_t seen[2] = {0}, stayed;
	uint32_t short_ways = 0;
	struct hl_live_entry got;
	struct hl_live l;

	assert_int_equal(hl_live_init(&l, SIZE_MAX, AT_FDCWD), 0);
	lose_places(&l, UINT64_C(0x560000000010));
	for (uint32_t i = 0; i < ADDRESSES; i += 100)
		insert(&l, address(i), &short_ways)->ordinal_thread = (uint64_t)i << 24;
	stayed = hl_live_blocks(&l);
	for (uint32_t i = 1; !l.places || i % ADDRESSES; i++) {
		uint64_t addr = address(i % ADDRESSES) + 8 * (i % 100 == 0);

		assert_true(i < ADDRESSES * 10);
		assert_null(hl_live_find(&l, addr));
		insert(&l, addr, &short_ways)->ordinal_thread = 0;
		assert_true(take(&l, addr, &got, &short_ways));
		hl_live_note_age(&l, 1);
		hl_live_look(&l);
	}
	hl_live_each(&l, count, seen);
	assert_int_equal(seen[0], stayed);
	lose_places(&l, UINT64_C(0x570000000010));
	assert_true(l.patience > 1); /* it takes longer now until they come back */
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		assert_int_equal(hl_live_take(&l, address(i), &got), i % 100 == 0);
		if (i % 100 == 0)
			assert_int_equal(hl_live_ordinal(&got), i);
	}
	hl_live_fini(&l);
}

/* Of these the index can tell none from another: all look for the same lines in the same order. */
static void same_tags(void **state)
{
	enum { BLOCKS = 3000 }; /* more than a line can count of those that it turned away */
	struct hl_live l;
	uint64_t others;

	assert_int_equal(hl_live_init(&l, SIZE_MAX, AT_FDCWD), 0);
	lose_places(&l, UINT64_C(0x560000000010));
	others = hl_live_blocks(&l);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 1; i <= BLOCKS; i++) {
			assert_null(hl_live_find(&l, i << 36));
			hl_live_insert(&l, i << 36)->ordinal_thread = i << 24;
		}
		for (uint64_t i = 1; i <= BLOCKS; i++) {
			struct hl_live_entry got;

			assert_true(hl_live_take(&l, i << 36, &got));
			assert_int_equal(hl_live_ordinal(&got), i);
			assert_null(hl_live_find(&l, i << 36));
		}
		assert_int_equal(hl_live_blocks(&l), others);
	}
	hl_live_fini(&l);
}

/* Blocks of 16 bytes without a gap: sixteen have one line of seven slots as their home, until parts
 * of the heap are smaller. */
static void dense_blocks_find_room(void **state)
{
	enum { BLOCKS = 600000 };
	uint32_t short_ways[2] = {0}, placeless = 0;
	struct hl_live_entry got;
	struct hl_live l;

	assert_int_equal(hl_live_init(&l, SIZE_MAX, AT_FDCWD), 0);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		hl_live_grow_on(&l, 1);
		hl_live_look(&l);
		if (l.places) {
			hl_live_insert(&l, address(i))->ordinal_thread = (uint64_t)i << 24;
			continue;
		}
		insert(&l, address(i), &short_ways[0])->ordinal_thread = (uint64_t)i << 24;
		placeless++;
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		assert_true(take(&l, address(i), &got, &short_ways[1]));
		assert_int_equal(hl_live_ordinal(&got), i);
	}
	assert_int_equal(hl_live_blocks(&l), 0);
	assert_true(placeless > BLOCKS / 2);
	assert_true(short_ways[0] > placeless / 4 * 3 && short_ways[1] > BLOCKS / 4 * 3);
	hl_live_fini(&l);
}

static void packs_its_numbers(void **state)
{
	struct hl_live_entry e = {
		.ordinal_thread = UINT64_C(0xfedcba9876) << 24 | 0xabcdef,
		.size_birth = HL_LIVE_FILTERED | HL_LIVE_SIZE_MAX << 16 | 0x1234,
		.birth_node = UINT64_C(0x56789abc) << 32 | 62u << 26 | 0x1adbeef,
	};

	assert_int_equal(hl_live_ordinal(&e), UINT64_C(0xfedcba9876));
	assert_int_equal(hl_live_thread(&e), 0xabcdef);
	assert_int_equal(hl_live_size(&e), HL_LIVE_SIZE_MAX);
	assert_int_equal(hl_live_node(&e), 0x1adbeef);
	assert_int_equal(hl_live_rate(&e), 62);
	assert_int_equal(hl_live_birth_ns(&e), UINT64_C(0x123456789abc) * 64);
	e.birth_node |= UINT32_MAX & HL_LIVE_NODE_MASK;
	assert_int_equal(hl_live_node(&e), UINT32_MAX);
	assert_int_equal(hl_live_rate(&e), 62);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_memory),
		cmocka_unit_test(in_a_file),
		cmocka_unit_test(in_places),
		cmocka_unit_test(places_come_and_go),
		cmocka_unit_test(same_tags),
		cmocka_unit_test(dense_blocks_find_room),
		cmocka_unit_test(packs_its_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
