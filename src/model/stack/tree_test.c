/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_test.c - building a tree from stacks: merging, sums, order.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/testing/fake_trace.h"
#include "model/stack/tree.h"

/* A library loaded twice: the same frames, recorded as different nodes. */
static const struct hl_node nodes[] = {
	{HL_NODE_NONE, 0, 0x10},                       /* 0 */
	{0, 0, 0x20},                                  /* 1 */
	{HL_NODE_NONE, 1, 0x10},                       /* 2: the same frame as 0 */
	{2, 1, 0x20},                                  /* 3: the same frame as 1 */
	{2, 1, 0x30},                                  /* 4 */
	{0, HL_MODULE_NONE, HL_OFFSET_REMOVED_FRAMES}, /* 5 */
	{5, HL_MODULE_NONE, 0x77},                     /* 6 */
	{0, 0, 0x21}, /* 7: as large as 4, so the name decides the order */
};

struct block {
	uint32_t node;
	uint64_t size;
};

static const struct block blocks[] = {
	{1, 100}, {3, 50}, {4, 30}, {6, 500}, {0, 1}, {HL_NODE_NONE, 7}, {7, 30}};

/* A thread of a program whose libc has no symbols. The distinct sizes identify the blocks. */
static const struct hl_node thread_nodes[] = {
	{HL_NODE_NONE, 2, 0x10}, /* 0 */
	{0, 2, 0x20},            /* 1 */
	{1, 0, 0x30},            /* 2: the thread's function */
	{2, 2, 0x40},            /* 3: a function of libc that it calls */
	{1, 2, 0x50},            /* 4 */
	{4, 2, 0x60},            /* 5: deeper than the frames before main are in any libc */
};
static const struct block thread_blocks[] = {{3, 100}, {2, 10}, {1, 5}, {5, 1}, {4, 3}};

/* A recursion that allocates at each level. */
static const struct hl_node recursion_nodes[] = {{HL_NODE_NONE, 0, 0x10}, {0, 0, 0x10},
	{1, 0, 0x10}, {2, 0, 0x10}, {3, 0, 0x10}, {4, 0, 0x10}};
static const struct block recursion_blocks[] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}};

static const struct sample {
	const struct hl_node *nodes;
	size_t n_nodes;
	const struct block *blocks;
	size_t n_blocks;
} plain_sample = {nodes, HL_ARRAY_LEN(nodes), blocks, HL_ARRAY_LEN(blocks)},
  thread_sample = {thread_nodes, HL_ARRAY_LEN(thread_nodes), thread_blocks,
	  HL_ARRAY_LEN(thread_blocks)},
  recursion_sample = {recursion_nodes, HL_ARRAY_LEN(recursion_nodes), recursion_blocks,
	  HL_ARRAY_LEN(recursion_blocks)};

static void write_trace(char *path, const struct sample *s)
{
	static const struct hl_meta meta = {.program = "p",
		.command = "p",
		.command_len = 2,
		.arch = "cpu",
		.clock = "tsc",
		.mode = "trace",
		.allocator = ""};
	struct hl_module module = {.path = "/nowhere/lib.so"};
	struct hl_module libc = {.path = "/nowhere/libc.so.6"};
	struct hl_end end = {.kind = HL_END_EXIT, .duration_ns = 640};
	struct hl_counters counters = {0};
	struct hl_writer *w;

	strcpy(path, "/tmp/hl-tree-XXXXXX");
	assert_int_equal(hl_writer_open(&w, mkstemp(path), &meta), 0);
	assert_int_equal(hl_writer_add_module(w, &module), 0);
	assert_int_equal(hl_writer_add_module(w, &module), 0);
	assert_int_equal(hl_writer_add_module(w, &libc), 0);
	for (size_t i = 0; i < s->n_nodes; i++)
		assert_int_equal(hl_writer_add_node(w, &s->nodes[i]), 0);
	assert_int_equal(hl_writer_add_thread(w, 1), 0);
	for (size_t i = 0; i < s->n_blocks; i++) {
		struct hl_event e = {.time_ns = 64,
			.addr = 4096 * i,
			.size = s->blocks[i].size,
			.ordinal = i,
			.node = s->blocks[i].node,
			.free_node = HL_NODE_NONE};

		assert_int_equal(hl_writer_add_event(w, &e), 0);
	}
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
}

/* Expected nodes in depth-first order, largest child first. */
struct want {
	const char *name;
	unsigned depth;
	uint64_t total, self, blocks;
};

static void check_sample(const struct sample *s, const struct want *want, size_t n_want,
	const struct hl_tree_opts *opts)
{
	struct hl_query q = {.to.kind = HL_TIME_SPEC_END};
	struct hl_reader_refusal why;
	struct hl_answer a;
	struct hl_model *m;
	struct hl_tree t;
	uint32_t stack[16], next[16] = {0};
	size_t depth = 0, seen = 0;
	char path[64];

	write_trace(path, s);
	assert_int_equal(hl_model_open(&m, path, &why), 0);
	assert_int_equal(hl_model_query(m, &q, &a), 0);
	if (opts->with_called_functions)
		assert_int_equal(hl_model_find_called_functions(m, &a), 0);
	assert_int_equal(hl_tree_build(&t, m, &a, opts), 0);
	assert_int_equal(t.nodes[0].total.bytes, a.total.bytes);
	assert_int_equal(t.nodes[0].total.blocks, a.total.blocks);
	assert_int_equal(t.n_nodes, n_want + 1);
	stack[0] = 0;
	for (;;) {
		const struct hl_tree_node *n = &t.nodes[stack[depth]];

		if (next[depth] == n->n_children) {
			if (depth-- == 0)
				break;
			continue;
		}
		stack[depth + 1] = t.children[n->first_child + next[depth]++];
		next[++depth] = 0;
		n = &t.nodes[stack[depth]];
		assert_string_equal(hl_model_frame(m, n->frame)->function, want[seen].name);
		assert_int_equal(depth, want[seen].depth);
		assert_int_equal(n->total.bytes, want[seen].total);
		assert_int_equal(n->total.blocks, want[seen].blocks);
		assert_int_equal(n->self.bytes, want[seen].self);
		seen++;
	}
	assert_int_equal(seen, n_want);
	hl_tree_fini(&t);
	hl_answer_fini(&a);
	hl_model_close(m);
	unlink(path);
}

static void check_tree(const struct want *want, size_t n_want, const struct hl_tree_opts *opts)
{
	check_sample(&plain_sample, want, n_want, opts);
}

static void equal_frames_are_one_node(void **state)
{
	static const struct want want[] = {
		{"0x10", 1, 711, 1, 6},
		{"[...]", 2, 500, 0, 1},
		{"[jit 0x77]", 3, 500, 500, 1},
		{"0x20", 2, 150, 150, 2},
		{"0x21", 2, 30, 30, 1},
		{"0x30", 2, 30, 30, 1},
		{"[no stack]", 1, 7, 7, 1},
	};

	check_tree(want, HL_ARRAY_LEN(want), &(struct hl_tree_opts){0});
}

/* Inverted: the called function, then its callers. Blocks without a stack have neither. */
static void an_inverted_tree_begins_at_the_called_function(void **state)
{
	static const struct want want[] = {
		{"malloc", 1, 711, 0, 6},
		{"[jit 0x77]", 2, 500, 0, 1},
		{"[...]", 3, 500, 0, 1},
		{"0x10", 4, 500, 500, 1},
		{"0x20", 2, 150, 0, 2},
		{"0x10", 3, 150, 150, 2},
		{"0x21", 2, 30, 0, 1},
		{"0x10", 3, 30, 30, 1},
		{"0x30", 2, 30, 0, 1},
		{"0x10", 3, 30, 30, 1},
		{"0x10", 2, 1, 1, 1},
		{"[no stack]", 1, 7, 7, 1},
	};
	/* Nodes below 100 bytes get no children. */
	static const struct want large[] = {
		{"malloc", 1, 711, 0, 6},
		{"[jit 0x77]", 2, 500, 0, 1},
		{"[...]", 3, 500, 0, 1},
		{"0x10", 4, 500, 500, 1},
		{"0x20", 2, 150, 0, 2},
		{"0x10", 3, 150, 150, 2},
		{"0x21", 2, 30, 30, 1},
		{"0x30", 2, 30, 30, 1},
		{"0x10", 2, 1, 1, 1},
		{"[no stack]", 1, 7, 7, 1},
	};

	check_tree(want, HL_ARRAY_LEN(want),
		&(struct hl_tree_opts){.inverted = true, .with_called_functions = true});
	check_tree(large, HL_ARRAY_LEN(large),
		&(struct hl_tree_opts){
			.inverted = true, .with_called_functions = true, .min_value = 100});
}

/* The other stacks have no frames, but their blocks are in the total. */
static void stacks_can_begin_at_a_function(void **state)
{
	static const struct want callees[] = {
		{"[...]", 1, 500, 0, 1},
		{"[jit 0x77]", 2, 500, 500, 1},
	};
	static const struct want callers[] = {
		{"0x20", 1, 150, 0, 2},
		{"0x10", 2, 150, 150, 2},
	};
	/* Of a recursion the outermost call: each block is counted once. */
	static const struct want recursion[] = {{"0x10", 1, 6, 6, 6}};

	check_tree(callees, HL_ARRAY_LEN(callees), &(struct hl_tree_opts){.from = "[...]"});
	check_tree(callers, HL_ARRAY_LEN(callers),
		&(struct hl_tree_opts){.from = "0x20", .inverted = true});
	check_sample(&recursion_sample, recursion, HL_ARRAY_LEN(recursion),
		&(struct hl_tree_opts){.from = "0x10", .inverted = true});
	check_tree(NULL, 0, &(struct hl_tree_opts){.from = "0x99"});
	check_tree(NULL, 0, &(struct hl_tree_opts){.from = "0x99", .inverted = true});
}

/* Nodes deeper than the limit get no children: stacks are not followed to the outermost frame. */
static void a_depth_limit_ends_the_tree(void **state)
{
	static const struct want want[] = {
		{"malloc", 1, 6, 0, 6},
		{"0x10", 2, 6, 1, 6},
		{"0x10", 3, 5, 1, 5},
		{"0x10", 4, 4, 1, 4},
		{"0x10", 5, 3, 3, 3},
	};

	check_sample(&recursion_sample, want, HL_ARRAY_LEN(want),
		&(struct hl_tree_opts){
			.inverted = true, .with_called_functions = true, .depth = 2});
}

/* The frames before main are omitted up to the first other frame. A stack that has no other frame
 * keeps them all. Sums do not change (check_sample). */
static void frames_before_main_are_omitted(void **state)
{
	static const struct want outermost_first[] = {
		{"0x30", 1, 110, 10, 2},
		{"0x40", 2, 100, 100, 1},
		{"0x10", 1, 8, 0, 2},
		{"0x20", 2, 8, 5, 2},
		{"0x50", 3, 3, 3, 1},
		{"0x60", 1, 1, 1, 1},
	};
	static const struct want innermost_first[] = {
		{"0x40", 1, 100, 0, 1},
		{"0x30", 2, 100, 100, 1},
		{"0x30", 1, 10, 10, 1},
		{"0x20", 1, 5, 0, 1},
		{"0x10", 2, 5, 5, 1},
		{"0x50", 1, 3, 0, 1},
		{"0x20", 2, 3, 0, 1},
		{"0x10", 3, 3, 3, 1},
		{"0x60", 1, 1, 1, 1},
	};
	static const struct want all[] = {
		{"0x10", 1, 119, 0, 5},
		{"0x20", 2, 119, 5, 5},
		{"0x30", 3, 110, 10, 2},
		{"0x40", 4, 100, 100, 1},
		{"0x50", 3, 4, 3, 2},
		{"0x60", 4, 1, 1, 1},
	};

	check_sample(&thread_sample, outermost_first, HL_ARRAY_LEN(outermost_first),
		&(struct hl_tree_opts){.omit_runtime_frames = true});
	check_sample(&thread_sample, innermost_first, HL_ARRAY_LEN(innermost_first),
		&(struct hl_tree_opts){.omit_runtime_frames = true, .inverted = true});
	check_sample(&thread_sample, all, HL_ARRAY_LEN(all), &(struct hl_tree_opts){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(equal_frames_are_one_node),
		cmocka_unit_test(an_inverted_tree_begins_at_the_called_function),
		cmocka_unit_test(stacks_can_begin_at_a_function),
		cmocka_unit_test(a_depth_limit_ends_the_tree),
		cmocka_unit_test(frames_before_main_are_omitted)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
