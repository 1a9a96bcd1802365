/* SPDX-License-Identifier: Apache-2.0 */
/* tag_capture_test.c - counters in untrusted memory: hl_tags_capture() returns a report or an
 * error, and always ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "tags/tag_capture.h"

/* The program whose counters are read: one thread with two scopes, outer and inner. */
static struct {
	struct hl_tags_head head;
	struct hl_tag_tree tree;
	_Alignas(8) char chunk[sizeof(struct hl_tag_chunk) +
			       HL_TAG_FIRST_CHUNK * sizeof(struct hl_tag_node)];
} program;
static struct hl_tag_chunk *const chunk = (struct hl_tag_chunk *)program.chunk;
static void *memory[16];
static size_t n_memory;

static void set_up_program(void)
{
	struct hl_tag_node *n = chunk->nodes;

	memset(&program, 0, sizeof(program));
	program.head = (struct hl_tags_head){.magic = HL_TAGS_MAGIC,
		.abi = HL_TAGS_ABI,
		.node_bytes = sizeof(*n),
		.running = 1,
		.trees = &program.tree};
	program.tree.chunks = chunk;
	program.tree.name = "main";
	program.tree.owners = 1;
	program.tree.root.parent = &program.tree.root;
	chunk->cap = HL_TAG_FIRST_CHUNK;
	chunk->used = 2;
	n[0] = (struct hl_tag_node){.name = "outer", .name_len = 5, .id = 1};
	n[1] = (struct hl_tag_node){.name = "inner",
		.name_len = 5,
		.id = 2,
		.parent = &n[0],
		.alloc_bytes = 100,
		.calls[HL_TAG_MALLOC] = 2,
		.begun = 7,
		.ended = 7};
}

/* Names are elsewhere; the rest must be within the program. */
static int read_program(void *arg, uint64_t addr, void *to, size_t n)
{
	uintptr_t lo = (uintptr_t)&program, hi = lo + sizeof(program);

	if (n <= 5 || (addr >= lo && addr + n <= hi && addr + n >= addr)) {
		memcpy(to, (const void *)(uintptr_t)addr, n);
		return 0;
	}
	return -EFAULT;
}

static void *more(void *arg, size_t bytes)
{
	if (n_memory == 16 || bytes > 1 << 20)
		return NULL;
	return memory[n_memory++] = calloc(1, bytes);
}

static int capture_program(struct hl_tag_report *r)
{
	const struct hl_tags_source s = {.read = read_program, .alloc = more, .tries = 10};

	memset(r, 0, sizeof(*r));
	return hl_tags_capture(&s, (uintptr_t)&program.head, r);
}

static void free_memory(void)
{
	while (n_memory > 0)
		free(memory[--n_memory]);
}

static void test_valid_counters_give_a_report(void **state)
{
	struct hl_tag_report r;

	set_up_program();
	assert_int_equal(capture_program(&r), 0);
	assert_int_equal(r.n_threads, 1);
	assert_int_equal(r.n_rows, 3);
	assert_string_equal(r.threads[0].name, "main");
	assert_string_equal(r.rows[2].name, "inner");
	assert_int_equal(r.rows[2].parent, 1);
	assert_int_equal(r.rows[0].total.alloc_bytes, 100);
	assert_int_equal(r.rows[1].self.alloc_bytes, 0);
	assert_int_equal(r.rows[2].self.alloc_blocks, 2);
	assert_int_equal(r.unsettled, 0);
	free_memory();
}

/* A node that is always in the middle of a write is read as it is, and counted. */
static void test_node_that_is_always_written_is_unsettled(void **state)
{
	struct hl_tag_report r;

	set_up_program();
	chunk->nodes[1].begun++;
	assert_int_equal(capture_program(&r), 0);
	assert_int_equal(r.unsettled, 1);
	free_memory();
}

static void expect_error(int err)
{
	struct hl_tag_report r;

	assert_int_equal(capture_program(&r), err);
	free_memory();
	set_up_program();
}

static void test_corrupt_counters_give_an_error(void **state)
{
	set_up_program();
	program.head.running = 0;
	expect_error(-ENODATA);
	program.head.magic++;
	expect_error(-EPROTO);
	program.head.node_bytes += 8;
	expect_error(-EPROTO);
	program.head.trees = (struct hl_tag_tree *)8;
	expect_error(-EFAULT);
	program.tree.next = &program.tree; /* an endless list */
	expect_error(-EBADMSG);
	chunk->used = HL_TAG_FIRST_CHUNK + 1;
	expect_error(-EBADMSG);
	chunk->cap = 0;
	chunk->used = 0;
	chunk->next = chunk;
	expect_error(-EBADMSG);
	chunk->used = HL_TAG_FIRST_CHUNK;
	chunk->next = chunk; /* more rows than the limit */
	expect_error(-EBADMSG);
	chunk->nodes[0].parent = &chunk->nodes[1]; /* a parent that comes after its child */
	expect_error(-EBADMSG);
	chunk->nodes[1].parent = &chunk->nodes[1];
	expect_error(-EBADMSG);
	chunk->nodes[1].parent = (struct hl_tag_node *)&program;
	expect_error(-EBADMSG);
	chunk->nodes[1].name_len = UINT32_MAX;
	expect_error(-EBADMSG);
	chunk->nodes[1].name_len = 1 << 12;
	expect_error(-EFAULT);
	expect_error(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_counters_give_a_report),
		cmocka_unit_test(test_node_that_is_always_written_is_unsettled),
		cmocka_unit_test(test_corrupt_counters_give_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
