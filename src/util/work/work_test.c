/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_test.c - work is shown, cancelled and ended in time, and stays stopped until it is resumed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/work/work.h"

static char shown[256];
static uint64_t now;

static void show(void *arg, const char *what, uint64_t done, uint64_t total)
{
	size_t len = strlen(shown);

	snprintf(shown + len, sizeof(shown) - len, "%s %d/%d;", what ? what : "end", (int)done,
		(int)total);
}

static uint64_t read_clock(void *arg)
{
	return now;
}

static void outermost_work_is_shown(void **state)
{
	struct hl_work w = {.progress = show};

	shown[0] = 0;
	hl_work_begin(&w, HL_WORK_PASS, "a");
	assert_int_equal(hl_work_tick(&w, 0, 9), 0);
	hl_work_begin(&w, HL_WORK_SHORT, "b");
	assert_int_equal(hl_work_tick(&w, 1, 2), 0);
	hl_work_end(&w, HL_WORK_SHORT);
	assert_int_equal(hl_work_tick(&w, 0, 0), 0);
	assert_int_equal(hl_work_tick(&w, 5, 9), 0);
	hl_work_end(&w, HL_WORK_PASS);
	assert_string_equal(shown, "a 0/0;a 0/9;a 5/9;end 0/0;");
}

static void no_work_is_not_stopped(void **state)
{
	hl_work_begin(NULL, HL_WORK_PASS, "a");
	assert_int_equal(hl_work_tick(NULL, 1, 2), 0);
	assert_int_equal(hl_work_check(NULL), 0);
	hl_work_end(NULL, HL_WORK_PASS);
}

static void cancelled_work_stays_stopped(void **state)
{
	atomic_bool cancel = false;
	struct hl_work w = {.cancel = &cancel};

	hl_work_begin(&w, HL_WORK_PASS, "a");
	assert_int_equal(hl_work_tick(&w, 1, 4), 0);
	atomic_store(&cancel, true);
	assert_int_equal(hl_work_check(&w), -ECANCELED);
	assert_int_equal(w.stopped, 0);
	assert_int_equal(hl_work_tick(&w, 2, 4), -ECANCELED);
	atomic_store(&cancel, false);
	assert_int_equal(hl_work_tick(&w, 3, 4), -ECANCELED);
	hl_work_end(&w, HL_WORK_PASS);
	assert_int_equal(w.stopped, -ECANCELED);
	assert_string_equal(w.stopped_what, "a");
	assert_true(w.stopped_percent == 50);
	hl_work_resume(&w);
	assert_int_equal(hl_work_tick(&w, 0, 4), 0);
}

static void passes_leave_time_for_other_work(void **state)
{
	struct hl_work w = {.clock = read_clock};

	now = 1000;
	hl_work_limit(&w, 400);
	now = 1299;
	hl_work_begin(&w, HL_WORK_PASS, "a");
	assert_int_equal(hl_work_tick(&w, 1, 2), 0);
	now = 1300;
	assert_int_equal(hl_work_tick(&w, 1, 2), -ETIME);
	hl_work_end(&w, HL_WORK_PASS);
	hl_work_resume(&w);
	hl_work_begin(&w, HL_WORK_SHORT, "b");
	assert_int_equal(hl_work_tick(&w, 1, 2), 0);
	now = 1400;
	assert_int_equal(hl_work_tick(&w, 1, 2), -ETIME);
	hl_work_end(&w, HL_WORK_SHORT);
}

static void huge_limits_do_not_overflow(void **state)
{
	struct hl_work w = {.clock = read_clock};

	now = UINT64_MAX - 1;
	hl_work_limit(&w, UINT64_MAX);
	assert_int_equal(hl_work_tick(&w, 1, 2), 0);
	hl_work_limit(&w, 0);
	now = UINT64_MAX;
	assert_int_equal(hl_work_tick(&w, 1, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outermost_work_is_shown),
		cmocka_unit_test(no_work_is_not_stopped),
		cmocka_unit_test(cancelled_work_stays_stopped),
		cmocka_unit_test(passes_leave_time_for_other_work),
		cmocka_unit_test(huge_limits_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
