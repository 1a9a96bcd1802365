/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_named_trace.h - traces for tests whose stacks are given as names of functions.
 *
 * Names that begin with "libc:" are functions of libc.so.6, names that begin with "inl:" are
 * inlined into the frame before them. All others are functions of one program. "0x" has no name.
 */
#ifndef HL_MODEL_TESTING_TEST_NAMED_TRACE_H
#define HL_MODEL_TESTING_TEST_NAMED_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "model/model.h"
#include "trace/write/writer.h"

#define NAMED_NODES_MAX  4096
#define NAMED_BLOCKS_MAX 4096

struct named_trace {
	struct named_node {
		uint32_t parent;
		const char *name[4]; /* outermost first; all but the first are inlined */
		size_t n;
	} nodes[NAMED_NODES_MAX];
	struct named_block {
		uint32_t node;
		uint64_t size;
	} blocks[NAMED_BLOCKS_MAX];
	uint32_t n_nodes;
	size_t n_blocks;
	char path[64];
};

static inline uint32_t named_trace_node(
	struct named_trace *t, uint32_t parent, const char *const *names, size_t n)
{
	uint32_t i;

	for (i = 0; i < t->n_nodes; i++) {
		if (t->nodes[i].parent == parent && t->nodes[i].n == n &&
			memcmp(t->nodes[i].name, names, n * sizeof(*names)) == 0)
			return i;
	}
	assert_true(i < NAMED_NODES_MAX && n <= 4);
	t->nodes[i] = (struct named_node){.parent = parent, .n = n};
	memcpy(t->nodes[i].name, names, n * sizeof(*names));
	t->n_nodes++;
	return i;
}

static inline void named_trace_block(struct named_trace *t, uint32_t node, uint64_t size)
{
	assert_true(t->n_blocks < NAMED_BLOCKS_MAX);
	t->blocks[t->n_blocks++] = (struct named_block){node, size};
}

/* Adds a block; the names of its stack are literals, outermost first. */
static inline void named_trace_add(
	struct named_trace *t, uint64_t size, const char *const *names, size_t n)
{
	uint32_t node = HL_NODE_NONE;

	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && strncmp(names[k], "inl:", 4) == 0; k++)
			;
		node = named_trace_node(t, node, names + i, k - i);
	}
	named_trace_block(t, node, size);
}
#define NAMED_STACK(t, size, ...)                                        \
	named_trace_add((t), (size), (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static inline const char *named_trace_text(const char *name)
{
	return strncmp(name, "libc:", 5) == 0  ? name + 5
	       : strncmp(name, "inl:", 4) == 0 ? name + 4
					       : name;
}

static inline void named_trace_write_node(
	struct hl_writer *w, const struct named_node *n, uint32_t id)
{
	bool libc = strncmp(n->name[0], "libc:", 5) == 0;
	struct hl_node node = {.parent = n->parent, .module = libc, .offset = 0x1000 + id};
	struct hl_name_frame frames[4] = {0};
	struct hl_named_site site = {
		.module = libc, .offset = node.offset, .frames = frames, .n_frames = n->n};

	for (size_t i = 0; i < n->n; i++) {
		const char *name = named_trace_text(n->name[i]);

		frames[i].function = strcmp(name, "0x") == 0 ? NULL : name;
		frames[i].inlined = i > 0;
	}
	assert_int_equal(hl_writer_add_node(w, &node), 0);
	assert_int_equal(hl_writer_add_names(w, &site), 0);
}

/* Writes the trace and opens it. The caller closes the model, and unlinks t->path. */
static inline struct hl_model *named_trace_open(struct named_trace *t)
{
	static const struct hl_meta meta = {.program = "p",
		.command = "p",
		.command_len = 2,
		.arch = "cpu",
		.clock = "tsc",
		.mode = "trace",
		.allocator = ""};
	struct hl_module program = {.path = "/nowhere/p"}, libc = {.path = "/nowhere/libc.so.6"};
	struct hl_end end = {.kind = HL_END_EXIT, .duration_ns = 640};
	struct hl_counters counters = {0};
	struct hl_reader_refusal why;
	struct hl_model *m = NULL;
	struct hl_writer *w;

	strcpy(t->path, "/tmp/hl-named-XXXXXX");
	assert_int_equal(hl_writer_open(&w, mkstemp(t->path), &meta), 0);
	assert_int_equal(hl_writer_add_module(w, &program), 0);
	assert_int_equal(hl_writer_add_module(w, &libc), 0);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		named_trace_write_node(w, &t->nodes[i], i);
	assert_int_equal(hl_writer_add_thread(w, 1), 0);
	for (size_t i = 0; i < t->n_blocks; i++) {
		struct hl_event e = {.time_ns = 64,
			.addr = 4096 * (i + 1),
			.size = t->blocks[i].size,
			.ordinal = i,
			.node = t->blocks[i].node,
			.free_node = HL_NODE_NONE};

		assert_int_equal(hl_writer_add_event(w, &e), 0);
	}
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
	assert_int_equal(hl_model_open(&m, t->path, &why), 0);
	return m;
}

#endif
