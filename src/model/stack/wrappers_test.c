/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers_test.c - which functions are found to be allocation wrappers, and the sites behind them.
 */
#include <stdio.h>

#include "base/attr.h"
#include "model/query/query.h"
#include "model/stack/site.h"
#include "model/stack/stack_rules.h"
#include "model/testing/test_named_trace.h"

static const char *const callers[] = {
	"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11"};

static struct named_trace *new_trace(void)
{
	struct named_trace *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	return t;
}

static bool is_wrapper(struct hl_model *m, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < hl_model_n_wrappers(m); i++)
		found |= strcmp(hl_model_wrapper(m, i), name) == 0;
	return found;
}

/* The functions that the trace of add_program has, and what they are. */
static const struct {
	const char *name;
	bool wrapper;
} expected[] = {
	{"mem_get", true},      /* 12 callers */
	{"mem_inside", true},   /* one caller, which is a wrapper */
	{"mem_split", true},    /* the compiler split it in two */
	{"pool_new", true},     /* through operator new */
	{"copy_text", true},    /* through strdup */
	{"xmalloc", true},      /* two callers, and the name of an allocator */
	{"retry_alloc", true},  /* such a name, calls itself */
	{"test_calloc", false}, /* such a name, but one caller and one size */
	{"pageAlloc", true},    /* 3 callers, ends in alloc, different sizes */
	{"list_append", false}, /* through list_grow, which has 2 callers and is no allocator */
	{"list_grow", false},   /* no wrapper calls it, so it is no inside of one */
	{"table_init", false},  /* allocates two blocks in each call */
	{"names_add", false},   /* 5 callers, always one size */
	{"thing_new", false},   /* mem_get and names_add */
	{"node_make", false},   /* always one size */
	{"Cache::put", false},  /* through a container */
	{"load", false},        /* through getline, which does more than allocate */
	{"copy_tree", false},   /* recursive */
	{"ping", false},        /* mutually recursive */
	{"pong", false},
	{"rare", false}, /* 7 callers */
	{"main", false}, /* never, whatever calls it */
	{"c0", false},
};

static void add_program(struct named_trace *t)
{
	for (uint64_t i = 0; i < 12; i++) {
		const char *c = callers[i];
		uint64_t size = 20 << i;

		NAMED_STACK(t, size, "main", c, "mem_get", "mem_inside");
		if (i < 9) {
			NAMED_STACK(t, size, "main", c, "inl:mem_split", "mem_split");
			NAMED_STACK(t, size, "main", c, "pool_new", "operator new(unsigned long)");
			NAMED_STACK(t, size, "main", c, "copy_text", "libc:__strdup");
			NAMED_STACK(t, 48, "main", c, "node_make", "mem_get", "mem_inside");
			NAMED_STACK(t, size, "main", c, "load", "libc:getline");
			NAMED_STACK(t, size, "main", c, "copy_tree");
			NAMED_STACK(t, size + 1, "main", c, "copy_tree", "copy_tree");
			NAMED_STACK(t, size + 2, "main", c, "copy_tree", "copy_tree", "copy_tree");
			NAMED_STACK(t, size, "main", c, "retry_alloc");
			NAMED_STACK(t, size + 1, "main", c, "retry_alloc", "retry_alloc");
			NAMED_STACK(t, size + 2, "main", c, "retry_alloc", "retry_alloc",
				"retry_alloc");
			NAMED_STACK(t, size, "main", c, "ping", "pong", "ping", "pong");
			NAMED_STACK(t, size, "main", c, "pong", "ping", "pong", "ping");
			NAMED_STACK(t, size, "main", c, "Cache::put",
				"std::map<int, int>::operator[](int&&)",
				"operator new(unsigned long)");
			NAMED_STACK(t, size, "main", c, "0x");
			NAMED_STACK(t, size, c, "main");
		}
		if (i < 10) {
			NAMED_STACK(t, size, "main", c, "thing_new", "mem_get", "mem_inside");
			NAMED_STACK(t, 96, "main", c, "thing_new", "names_add");
		}
		if (i < 4)
			NAMED_STACK(t, 96, "main", c, "names_add");
		if (i < 7)
			NAMED_STACK(t, size, "main", c, "rare");
		if (i < 2)
			NAMED_STACK(t, 8, "main", c, "xmalloc");
		if (i < 3)
			NAMED_STACK(t, size, "main", c, "pageAlloc");
		if (i < 10) {
			NAMED_STACK(t, size, "main", c, "list_append", "list_grow", "mem_get",
				"mem_inside");
			NAMED_STACK(t, size, "main", c, "table_init", "mem_get", "mem_inside");
			NAMED_STACK(t, 2 * size, "main", c, "table_init", "pool_new",
				"operator new(unsigned long)");
		}
		if (i < 1)
			NAMED_STACK(t, size, "main", c, "list_grow", "mem_get", "mem_inside");
		if (i == 0)
			NAMED_STACK(t, 8, "main", c, "test_calloc");
	}
}

static void wrappers_are_found(void **state)
{
	struct named_trace *t = new_trace();
	struct hl_model *m;

	add_program(t);
	m = named_trace_open(t);
	assert_int_equal(hl_model_find_wrappers(m), 0);
	for (size_t i = 0; i < HL_ARRAY_LEN(expected); i++) {
		if (is_wrapper(m, expected[i].name) != expected[i].wrapper)
			fail_msg("%s", expected[i].name);
	}
	assert_int_equal(hl_model_n_wrappers(m), 8);
	assert_string_equal(hl_model_wrapper(m, 0), "mem_get");
	hl_model_close(m);
	unlink(t->path);
	free(t);
}

/* Looking for wrappers names all stacks, but notes no module: none is part of an answer yet. */
static void the_search_notes_no_module(void **state)
{
	struct named_trace *t = new_trace();
	struct hl_model *m;

	add_program(t);
	m = named_trace_open(t);
	assert_int_equal(hl_model_find_wrappers(m), 0);
	assert_int_equal(hl_model_n_module_notes(m), 0);
	hl_model_close(m);
	unlink(t->path);
	free(t);
}

static const char *site_of(struct hl_model *m, const struct named_trace *t, size_t block)
{
	struct hl_site site;

	assert_int_equal(hl_model_locate_site(m, t->blocks[block].node, &site), 0);
	return hl_model_frame(m, site.frame)->function;
}

static void sites_are_behind_wrappers(void **state)
{
	static const struct hl_stack_rules none = {.no_wrappers = true};
	struct named_trace *t = new_trace();
	struct hl_pattern_error error;
	struct hl_filter_error filter_error;
	struct hl_pattern *name;
	struct hl_filter *fold;
	struct hl_stack_rules rules = {
		.folds = &fold, .n_folds = 1, .wrappers = &name, .n_wrappers = 1};
	struct hl_model *m;
	size_t last;

	add_program(t);
	last = t->n_blocks;
	NAMED_STACK(t, 1, "libc:x", "libc:y");
	NAMED_STACK(t, 1, "_start", "libc:y");
	m = named_trace_open(t);
	assert_string_equal(site_of(m, t, 0), "c0");
	assert_string_equal(site_of(m, t, last), "y"); /* no own frame: the innermost one */
	assert_string_equal(site_of(m, t, last + 1), "y");
	hl_model_set_stack_rules(m, &none);
	assert_string_equal(site_of(m, t, 0), "mem_inside");
	assert_int_equal(hl_model_n_wrappers(m), 0);
	assert_int_equal(hl_pattern_new(&name, "c?", 2, &error), 0);
	assert_int_equal(hl_filter_parse(&fold, "fn:node_make -file:x", &filter_error), 0);
	hl_model_set_stack_rules(m, &rules);
	assert_string_equal(site_of(m, t, 0), "main");
	assert_true(is_wrapper(m, "c0") && is_wrapper(m, "mem_get"));
	hl_model_set_stack_rules(m, NULL);
	assert_string_equal(site_of(m, t, 0), "c0");
	hl_pattern_free(name);
	hl_filter_free(fold);
	hl_model_close(m);
	unlink(t->path);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(wrappers_are_found),
		cmocka_unit_test(the_search_notes_no_module),
		cmocka_unit_test(sites_are_behind_wrappers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
