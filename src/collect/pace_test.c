/* SPDX-License-Identifier: Apache-2.0 */
/* pace_test.c - how each input changes the sleep, and that no input makes it too long. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attr.h"
#include "collect/drain/region.h"
#include "collect/pace.h"

#define US     1000u
#define MS     1000000u
#define SECOND UINT64_C(1000000000)

/* One target, with empty rings and without snapshots. */
#define TARGET .has_regions = true, .has_targets = true, .watched = true
#define USUAL  TARGET, .due_ns = HL_PACE_NEVER

static void each_input_changes_the_pace_as_described(void **state)
{
	static const struct {
		const char *what;
		struct hl_pace_input in;
		struct hl_pace out;
	} cases[] = {
		{"empty rings: twice the interval", {USUAL, .interval_ns = 100 * US},
			{200 * US, 200 * US, 20 * MS, false}},
		{"below an eighth: the same", {USUAL, .interval_ns = 100 * US, .fullest = 127},
			{200 * US, 200 * US, 20 * MS, false}},
		{"an eighth: no change", {USUAL, .interval_ns = 100 * US, .fullest = 128},
			{100 * US, 100 * US, 20 * MS, false}},
		{"a quarter: no change", {USUAL, .interval_ns = 100 * US, .fullest = 256},
			{100 * US, 100 * US, 20 * MS, false}},
		{"above a quarter: half", {USUAL, .interval_ns = 100 * US, .fullest = 257},
			{50 * US, 50 * US, 20 * MS, false}},
		{"half: half", {USUAL, .interval_ns = 100 * US, .fullest = 512},
			{50 * US, 50 * US, 20 * MS, false}},
		{"above half: no sleep", {USUAL, .interval_ns = 100 * US, .fullest = 513},
			{0, 0, 5 * MS, false}},
		{"after no sleep: the shortest", {USUAL, .interval_ns = 0},
			{20 * US, 20 * US, 20 * MS, false}},
		{"the longest with events", {USUAL, .interval_ns = 4 * MS, .since_data_ns = SECOND},
			{5 * MS, 5 * MS, 20 * MS, false}},
		{"the longest after a second without",
			{USUAL, .interval_ns = 16 * MS, .since_data_ns = SECOND + 1},
			{20 * MS, 20 * MS, 20 * MS, false}},
		{"the first events after that", {USUAL, .interval_ns = 20 * MS, .fullest = 1},
			{5 * MS, 5 * MS, 20 * MS, false}},
		{"only samples: the same as without events",
			{USUAL, .interval_ns = 16 * MS, .only_samples = true},
			{20 * MS, 20 * MS, 20 * MS, false}},
		{"no targets: the longest at once",
			{.has_regions = true, .due_ns = HL_PACE_NEVER, .interval_ns = 20 * US},
			{5 * MS, 5 * MS, 5 * MS, false}},
		{"no regions: the longest of all",
			{.due_ns = HL_PACE_NEVER, .interval_ns = 20 * US},
			{20 * MS, 20 * MS, 5 * MS, false}},
		{"a scan that stopped early: no sleep, the same interval afterwards",
			{USUAL, .interval_ns = 100 * US, .fullest = 128, .crowded = true},
			{100 * US, 0, 5 * MS, false}},
		{"blocks are being copied for a base: no sleep, also while the queue is full",
			{USUAL, .interval_ns = 100 * US, .fullest = 128, .copying = true,
				.queue_full = true},
			{200 * US, 0, 5 * MS, false}},
		{"a target is leaving: the shortest, and a check",
			{USUAL, .interval_ns = 5 * MS, .leaving = true},
			{20 * US, 20 * US, 20 * MS, true}},
		{"a target is leaving, and rings are filled",
			{USUAL, .interval_ns = 5 * MS, .fullest = 300, .leaving = true},
			{0, 0, 5 * MS, true}},
		{"a request: soon, and a check", {USUAL, .interval_ns = 5 * MS, .requested = true},
			{200 * US, 200 * US, 20 * MS, true}},
		{"a request: not later than without",
			{USUAL, .interval_ns = 40 * US, .requested = true},
			{80 * US, 80 * US, 20 * MS, true}},
		{"a request without targets", {.due_ns = HL_PACE_NEVER, .requested = true},
			{200 * US, 200 * US, 5 * MS, true}},
		{"the queue is full: not at once, though rings are",
			{USUAL, .interval_ns = 100 * US, .fullest = 1024, .queue_full = true},
			{200 * US, 200 * US, 20 * MS, false}},
		{"the queue is full, and rings are empty",
			{USUAL, .interval_ns = 1 * MS, .queue_full = true},
			{2 * MS, 2 * MS, 20 * MS, false}},
		{"a snapshot is due before the end of the sleep: until then",
			{TARGET, .interval_ns = 5 * MS, .due_ns = 3 * MS},
			{5 * MS, 3 * MS, 20 * MS, false}},
		{"a snapshot is due later", {TARGET, .interval_ns = 5 * MS, .due_ns = 7 * MS},
			{5 * MS, 5 * MS, 20 * MS, false}},
		{"a snapshot is overdue: no endless loop",
			{TARGET, .interval_ns = 5 * MS, .due_ns = 0},
			{5 * MS, 20 * US, 20 * MS, false}},
		{"a process that does not end the sleep: checks more often",
			{.has_regions = true,
				.has_targets = true,
				.due_ns = HL_PACE_NEVER,
				.interval_ns = 100 * US},
			{200 * US, 200 * US, 5 * MS, false}},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_pace got = hl_pace_next(&cases[i].in);

		if (got.interval_ns != cases[i].out.interval_ns ||
			got.sleep_ns != cases[i].out.sleep_ns ||
			got.check_ns != cases[i].out.check_ns || got.check != cases[i].out.check)
			fail_msg("%s: interval %u, sleep %u, checks every %llu, check %d",
				cases[i].what, got.interval_ns, got.sleep_ns,
				(unsigned long long)got.check_ns, got.check);
	}
}

/* All combinations of the flags, with values from each range of the others. */
static void no_sleep_is_longer_than_the_heartbeat_allows(void **state)
{
	static const uint32_t intervals[] = {0, 1, 20 * US, 5 * MS, 20 * MS};
	static const uint32_t fills[] = {0, 1, 128, 257, 513, HL_FILL_ALL + 1};
	static const uint64_t dues[] = {0, 1, 10 * MS, HL_PACE_NEVER};
	uint32_t n_cases = 0;

	_Static_assert(HL_PACE_SLEEP_MAX_NS < 50 * MS, "as ring/region_layout.h says");
	for (uint32_t i = 0; i < HL_ARRAY_LEN(intervals); i++)
		for (uint32_t k = 0; k < HL_ARRAY_LEN(fills); k++)
			for (uint32_t flags = 0; flags < 1024; flags++)
				for (uint32_t d = 0; d < HL_ARRAY_LEN(dues); d++, n_cases++) {
					struct hl_pace_input in = {.interval_ns = intervals[i],
						.fullest = fills[k],
						.since_data_ns = flags & 1 ? 2 * SECOND : 0,
						.due_ns = dues[d],
						.has_regions = flags & 2,
						.has_targets = flags & 4,
						.only_samples = flags & 8,
						.crowded = flags & 16,
						.leaving = flags & 32,
						.requested = flags & 64,
						.queue_full = flags & 128,
						.watched = flags & 256,
						.copying = flags & 512};
					struct hl_pace out = hl_pace_next(&in);

					assert_true(out.sleep_ns <= HL_PACE_SLEEP_MAX_NS);
					assert_true(out.interval_ns <= HL_PACE_SLEEP_MAX_NS);
					assert_true(out.check_ns <= HL_PACE_SLEEP_MAX_NS);
					assert_true(out.sleep_ns <= 20 * US ||
						    out.sleep_ns <= in.due_ns);
					assert_true(!in.crowded || !out.sleep_ns);
					assert_true(!in.copying || !out.sleep_ns);
				}
	assert_int_equal(n_cases, 5 * 6 * 1024 * 4);
}

/* The interval of an idle program grows to the longest one and stays there. */
static void interval_settles(void **state)
{
	struct hl_pace_input in = {USUAL, .interval_ns = HL_PACE_FIRST_NS};
	int n = 0;

	for (; in.interval_ns < 5 * MS && n < 100; n++)
		in.interval_ns = hl_pace_next(&in).interval_ns;
	assert_int_equal(n, 8);
	assert_int_equal(hl_pace_next(&in).interval_ns, 5 * MS);
	in.since_data_ns = 2 * SECOND;
	in.interval_ns = hl_pace_next(&in).interval_ns;
	assert_int_equal(in.interval_ns, 10 * MS);
	in.interval_ns = hl_pace_next(&in).interval_ns;
	assert_int_equal(in.interval_ns, 20 * MS);
	assert_int_equal(hl_pace_next(&in).interval_ns, 20 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_input_changes_the_pace_as_described),
		cmocka_unit_test(no_sleep_is_longer_than_the_heartbeat_allows),
		cmocka_unit_test(interval_settles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
