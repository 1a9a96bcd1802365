/* SPDX-License-Identifier: Apache-2.0 */
/* map_sampler_test.c - when mappings are sampled, and processes that end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/output/map_sampler.h"
#include "util/mono_clock.h"

#define MS   UINT64_C(1000000)
#define HOUR (3600 * 1000 * MS)

static void pause_shortly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void interval_follows_the_cost(void **state)
{
	uint64_t rest = 0;

	(void)state;
	/* 5 ms of the CPU and less: once a second, counted from the beginning */
	assert_int_equal(hl_map_next_due(HOUR, 100 * MS, 101 * MS, MS, &rest), 1100 * MS);
	assert_int_equal(rest, 301 * MS);
	assert_int_equal(hl_map_next_due(HOUR, 0, 5 * MS, 5 * MS, &rest), 1005 * MS);
	/* more: 200 times the cost, counted from the end */
	assert_int_equal(hl_map_next_due(HOUR, 0, 60 * MS, 50 * MS, &rest), 10060 * MS);
	assert_int_equal(rest, 10060 * MS);
	/* a read that waited for the program cost little */
	assert_int_equal(hl_map_next_due(HOUR, 0, 3000 * MS, 2 * MS, &rest), 3400 * MS);
	/* at first more often, but at no higher cost */
	assert_int_equal(hl_map_next_due(0, 7 * MS, 8 * MS, MS / 10, &rest), 57 * MS);
	assert_int_equal(hl_map_next_due(400 * MS, 400 * MS, 401 * MS, MS / 10, &rest), 500 * MS);
	assert_int_equal(hl_map_next_due(0, 7 * MS, 8 * MS, MS, &rest), 208 * MS);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void wait_for_sample(struct hl_map_source *m, struct hl_map_parts *parts)
{
	while (!hl_map_source_take(m, parts))
		pause_shortly();
}

static void samples_come_until_the_last_one(void **state)
{
	struct hl_map_sampler *s = hl_map_sampler_start();
	pid_t pid = start_child();
	struct hl_map_source *m = hl_map_sampler_add(s, (uint64_t)pid, hl_mono_ns());
	struct hl_map_parts parts;

	(void)state;
	assert_non_null(m);
	wait_for_sample(m, &parts);
	assert_true(parts.full);
	assert_true(parts.n > 5);
	hl_map_parts_fini(&parts);
	wait_for_sample(m, &parts); /* soon */
	assert_false(parts.full);
	hl_map_parts_fini(&parts);
	assert_int_equal(hl_map_source_error(m), 0);
	for (int taken = 0; !hl_map_source_finish(m);) {
		pause_shortly();
		if (!hl_map_source_take(m, &parts))
			continue;
		assert_true(taken++ < 2);
		hl_map_parts_fini(&parts);
	}
	assert_false(hl_map_source_take(m, &parts));
	hl_map_source_remove(m);
	end_child(pid);
	hl_map_sampler_stop(s);
}

static void ended_process_has_no_last_sample(void **state)
{
	struct hl_map_sampler *s = hl_map_sampler_start();
	pid_t pid = start_child();
	struct hl_map_source *m = hl_map_sampler_add(s, (uint64_t)pid, hl_mono_ns());
	struct hl_map_parts parts;

	(void)state;
	wait_for_sample(m, &parts);
	hl_map_parts_fini(&parts);
	end_child(pid);
	while (!hl_map_source_finish(m)) {
		assert_false(hl_map_source_take(m, &parts));
		pause_shortly();
	}
	assert_int_equal(hl_map_source_error(m), -ESRCH);
	hl_map_source_remove(m);
	hl_map_sampler_stop(s);
}

static void process_that_cannot_be_read_is_no_harm(void **state)
{
	struct hl_map_sampler *s = hl_map_sampler_start();
	struct hl_map_source *none = hl_map_sampler_add(s, UINT32_MAX, hl_mono_ns());
	struct hl_map_source *own = hl_map_sampler_add(s, (uint64_t)getpid(), hl_mono_ns());
	struct hl_map_parts parts;

	(void)state;
	wait_for_sample(own, &parts);
	hl_map_parts_fini(&parts);
	while (!hl_map_source_error(none))
		pause_shortly();
	assert_false(hl_map_source_take(none, &parts));
	while (!hl_map_source_finish(none))
		pause_shortly();
	hl_map_source_remove(none);
	/* one source is left, with or without a sample in progress */
	hl_map_sampler_stop(s);
}

static void sources_may_be_removed_at_any_moment(void **state)
{
	struct hl_map_sampler *s = hl_map_sampler_start();

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct hl_map_source *m = hl_map_sampler_add(s, (uint64_t)getpid(), hl_mono_ns());

		assert_non_null(m);
		if (i % 3)
			(void)hl_map_source_finish(m);
		if (i % 20 == 0)
			pause_shortly();
		hl_map_source_remove(m);
	}
	hl_map_sampler_stop(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interval_follows_the_cost),
		cmocka_unit_test(samples_come_until_the_last_one),
		cmocka_unit_test(ended_process_has_no_last_sample),
		cmocka_unit_test(process_that_cannot_be_read_is_no_harm),
		cmocka_unit_test(sources_may_be_removed_at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
