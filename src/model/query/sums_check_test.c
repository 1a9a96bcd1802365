/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums_check_test.c - hl_sums_check() of traces that begin late: a base that is true, one with two
 * blocks at one address, and one whose keyframe has other sums than its blocks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/model.h"
#include "model/query/sums.h"
#include "trace/heap_sim_base.h"

static char path[] = "/tmp/hl-check-XXXXXX";

static int next_from_list(void *arg, struct hl_live_block *b, uint8_t *func)
{
	struct hl_live_block **at = arg;

	*b = *(*at)++;
	*func = HL_FUNC_MALLOC;
	return 0;
}

static void add_tables(struct hl_writer *w)
{
	const struct hl_node n = {.parent = HL_NODE_NONE, .module = HL_MODULE_NONE};

	assert_int_equal(hl_writer_add_node(w, &n), 0);
	assert_int_equal(hl_writer_add_thread(w, 1), 0);
}

/* A run of two allocations of 8 bytes, whose base says that these two blocks were live. */
static void make_trace(struct hl_live_block list[2])
{
	struct hl_meta meta = {.program = "p", .command = "", .arch = "", .mode = "trace"};
	struct hl_event e = {.size = 8, .free_node = HL_NODE_NONE};
	const struct hl_base_blocks blocks = {next_from_list, &list};
	const struct hl_end end = {.kind = HL_END_EXIT};
	const struct hl_counters counters = {0};
	struct hl_file_status status = {0};
	struct hl_base_place place;
	struct hl_writer *early, *w;

	unlink(path);
	strcpy(path, "/tmp/hl-check-XXXXXX");
	assert_int_equal(hl_heap_sim_open_early(&early, &meta, &status), 0);
	add_tables(early);
	for (e.ordinal = 0; e.ordinal < 2; e.ordinal++) {
		e.addr = 16 + e.ordinal * 16;
		assert_int_equal(hl_writer_add_event(early, &e), 0);
	}
	assert_int_equal(hl_writer_describe_base(early, 0, 2, &meta.base), 0);
	assert_int_equal(hl_writer_open(&w, mkstemp(path), &meta), 0);
	add_tables(w);
	assert_int_equal(hl_writer_begin_base(w, early, &place), 0);
	assert_int_equal(hl_writer_add_base_blocks(w, &place, &blocks), 0);
	assert_int_equal(hl_writer_end_base(w), 0);
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(early);
	hl_writer_close(w);
}

static bool is_contradiction(struct hl_live_block first, struct hl_live_block second)
{
	struct hl_live_block list[2] = {first, second};
	struct hl_reader_refusal why;
	struct hl_model *m;
	bool damaged;

	make_trace(list);
	assert_int_equal(hl_model_open(&m, path, &why), 0);
	assert_false(hl_model_info(m)->damaged);
	assert_int_equal(hl_sums_check(m), 0);
	damaged = hl_model_info(m)->damaged;
	hl_model_close(m);
	return damaged;
}

static void base_must_agree_with_its_keyframe(void **state)
{
	const struct hl_live_block a = {.addr = 16, .size = 8},
				   b = {.addr = 32, .size = 8, .ordinal = 1};
	struct hl_live_block same_address = b, other_size = b, other_node = b;

	same_address.addr = a.addr;
	other_size.size = 9;
	other_node.node = HL_NODE_NONE;
	assert_false(is_contradiction(a, b));
	assert_true(is_contradiction(a, same_address));
	assert_true(is_contradiction(a, other_size));
	assert_true(is_contradiction(a, other_node));
}

static int remove_file(void **state)
{
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base_must_agree_with_its_keyframe),
	};

	return cmocka_run_group_tests(tests, NULL, remove_file);
}
