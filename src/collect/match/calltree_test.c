/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calltree_test.c - paths to nodes: each (parent, frame) is one node, whichever frames were looked
 * up, and whatever modules were loaded and unloaded.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/hash.h"
#include "collect/match/calltree.h"

#define DEPTH 12u

struct fixture {
	struct hl_calltree tree;
	HL_VEC(struct hl_node) nodes;
};

static int on_node(void *arg, const struct hl_node *node)
{
	struct fixture *t = arg;

	return hl_vec_push(&t->nodes, *node);
}

static int setup(void **state)
{
	static struct fixture t;

	memset(&t, 0, sizeof(t));
	*state = &t;
	return hl_calltree_init(&t.tree, on_node, &t);
}

static int teardown(void **state)
{
	struct fixture *t = *state;

	hl_calltree_fini(&t->tree);
	hl_vec_free(&t->nodes);
	return 0;
}

/* Do these pcs, outermost first, lead to this node, according to the parents that on_node()
 * received? */
static bool is_node_of_path(const struct fixture *t, const uint64_t *pcs, size_t n, uint32_t node)
{
	while (n-- > 0) {
		if (node >= t->nodes.len || t->nodes.data[node].offset != pcs[n])
			return false;
		node = t->nodes.data[node].parent;
	}
	return node == HL_NODE_NONE;
}

static uint32_t follow(struct fixture *t, const uint64_t *pcs, size_t n)
{
	struct hl_path_step steps[DEPTH];

	assert_int_equal(hl_calltree_follow(&t->tree, HL_PATH_STEP_ROOT, pcs, n, steps), 0);
	return steps[n - 1].node;
}

/* A random walk that keeps some frames and changes the others; nodes are looked up or not. */
static void each_node_is_created_once(void **state)
{
	struct fixture *t = *state;
	struct hl_path_step steps[DEPTH];
	uint64_t pcs[DEPTH], rng = 1;
	size_t len = 0;

	for (int round = 0; round < 200000; round++) {
		uint64_t r = hl_hash_u64(rng += HL_HASH_K);
		size_t kept = len ? r % (len + 1) : 0, n = (r >> 8) % (DEPTH - kept);

		for (size_t i = 0; i < n; i++)
			pcs[kept + i] = 0x1000 + (r >> (16 + 4 * i) & 3);
		assert_int_equal(
			hl_calltree_follow(&t->tree, kept ? steps[kept - 1] : HL_PATH_STEP_ROOT,
				pcs + kept, n, steps + kept),
			0);
		len = kept + n;
		if (len)
			assert_true(is_node_of_path(
				t, pcs, len, hl_calltree_node(&t->tree, &steps[len - 1])));
	}
	assert_true(t->nodes.len > 10000);
	for (size_t i = 0; i < len; i++)
		assert_true(is_node_of_path(t, pcs, i + 1, hl_calltree_node(&t->tree, &steps[i])));
	/* all nodes again: each path leads to its own node */
	for (uint32_t node = 0; node < t->nodes.len; node++) {
		size_t n = 0;

		for (uint32_t i = node; i != HL_NODE_NONE; i = t->nodes.data[i].parent)
			n++;
		for (uint32_t i = node, k = (uint32_t)n; k > 0; i = t->nodes.data[i].parent)
			pcs[--k] = t->nodes.data[i].offset;
		assert_int_equal(follow(t, pcs, n), node);
	}
}

/* A library is replaced by another: its frames change, those of other modules do not. */
static void nodes_survive_module_changes(void **state)
{
	static const uint64_t pcs[] = {0x1010, 0x1020, 0x1030, 0x9040};
	static const struct hl_module_range one = {0x1000, 0x2000, 0x1000, 0},
					    two = {0x9000, 0xa000, 0x9000, 1},
					    other = {0x9000, 0xa000, 0x9000, 2};
	struct fixture *t = *state;
	uint32_t inner, outer;
	uint64_t epoch;

	assert_int_equal(hl_calltree_map(&t->tree, &one), 0);
	outer = follow(t, pcs, 3);
	epoch = t->tree.epoch;
	assert_int_equal(hl_calltree_map(&t->tree, &two), 0);
	assert_int_equal(t->tree.epoch, epoch); /* no frame was known there */
	inner = follow(t, pcs, 4);
	assert_int_equal(hl_calltree_map(&t->tree, &two), 0);
	assert_int_equal(t->tree.epoch, epoch);
	assert_int_equal(hl_calltree_map(&t->tree, &other), 0);
	assert_int_not_equal(t->tree.epoch, epoch);
	assert_int_equal(follow(t, pcs, 4), 4);
	assert_int_equal(follow(t, pcs, 3), outer);
	assert_int_equal(t->nodes.data[4].parent, outer);
	assert_int_equal(t->nodes.data[4].module, 2);
	assert_int_equal(hl_calltree_map(&t->tree, &two), 0);
	assert_int_equal(follow(t, pcs, 4), inner);
	assert_int_equal(t->nodes.len, 5);
}

/* A frame is seen before its module. After the announcement it is another frame. */
static void module_may_be_announced_after_its_frames(void **state)
{
	static const uint64_t pcs[] = {0x1010, 0x1001};
	struct fixture *t = *state;
	uint32_t early = follow(t, pcs, 2), late;

	assert_int_equal(
		hl_calltree_map(&t->tree, &(struct hl_module_range){0x2000, 0x3000, 0, 0}), 0);
	assert_int_equal(follow(t, pcs, 2), early);
	/* a return address may be the first byte after the module */
	assert_int_equal(
		hl_calltree_map(&t->tree, &(struct hl_module_range){0x900, 0x1000, 0, 1}), 0);
	assert_int_equal(follow(t, pcs, 2), early);
	assert_int_equal(
		hl_calltree_map(&t->tree, &(struct hl_module_range){0x1000, 0x1002, 0, 2}), 0);
	late = follow(t, pcs, 2);
	assert_int_equal(t->nodes.data[late].module, 2);
	assert_int_equal(t->nodes.data[late].parent, t->nodes.data[early].parent);
}

/* The same module at two addresses has the same nodes. */
static void module_mapped_twice_shares_its_nodes(void **state)
{
	struct fixture *t = *state;
	uint32_t node;

	assert_int_equal(
		hl_calltree_map(&t->tree, &(struct hl_module_range){0x1000, 0x2000, 0x1000, 0}), 0);
	node = follow(t, (uint64_t[]){0x1010, 0x1020}, 2);
	assert_int_equal(
		hl_calltree_map(&t->tree, &(struct hl_module_range){0x5000, 0x6000, 0x5000, 0}), 0);
	assert_int_equal(follow(t, (uint64_t[]){0x5010, 0x1020}, 2), node);
	node = follow(t, (uint64_t[]){0x5010, 0x5030}, 2);
	assert_int_equal(follow(t, (uint64_t[]){0x1010, 0x1030}, 2), node);
	assert_int_equal(t->nodes.len, 3);
}

/* Modules change while the table grows: edges of the old table are not used again. */
static void growing_table_forgets_old_edges(void **state)
{
	static const struct hl_module_range here = {0x1000, 0x2000, 0x1000, 0},
					    there = {0x1000, 0x2000, 0x1000, 1};
	struct fixture *t = *state;
	uint64_t pc = 0x1000;

	assert_int_equal(hl_calltree_map(&t->tree, &here), 0);
	while (!t->tree.old_edges)
		(void)follow(t, (uint64_t[]){++pc}, 1);
	assert_int_equal(follow(t, (uint64_t[]){0x1001}, 1), 0);
	assert_int_equal(hl_calltree_map(&t->tree, &there), 0);
	assert_int_equal(t->nodes.data[follow(t, (uint64_t[]){0x1001}, 1)].module, 1);
	assert_int_equal(hl_calltree_map(&t->tree, &here), 0);
	assert_int_equal(follow(t, (uint64_t[]){0x1001}, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_node_is_created_once, setup, teardown),
		cmocka_unit_test_setup_teardown(nodes_survive_module_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(
			module_may_be_announced_after_its_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(
			module_mapped_twice_shares_its_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(growing_table_forgets_old_edges, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
