/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold_test.c - folded trees: their runs, and that they have the totals of the unfolded tree.
 *
 * The expected totals of random trees are computed from the list of stacks alone.
 */
#include <stdio.h>

#include "base/attr.h"
#include "base/hash.h"
#include "model/query/query.h"
#include "model/stack/stack_rules.h"
#include "model/stack/tree.h"
#include "model/testing/test_named_trace.h"

static const struct hl_stack_rules no_wrappers = {.no_wrappers = true};

static struct hl_model *open_trace(struct named_trace *t)
{
	struct hl_model *m = named_trace_open(t);

	hl_model_set_stack_rules(m, &no_wrappers);
	return m;
}

static void close_trace(struct hl_model *m, struct named_trace *t)
{
	hl_model_close(m);
	unlink(t->path);
	free(t);
}

static void build(struct hl_tree *t, struct hl_model *m, bool fold, bool inverted, bool sites)
{
	const struct hl_query q = {.to.kind = HL_TIME_SPEC_END};
	const struct hl_tree_opts opts = {.fold = fold, .inverted = inverted, .with_sites = sites};
	struct hl_answer a;

	assert_int_equal(hl_model_query(m, &q, &a), 0);
	assert_int_equal(hl_tree_build(t, m, &a, &opts), 0);
	assert_int_equal(t->nodes[0].total.bytes, a.total.bytes);
	assert_int_equal(t->nodes[0].total.blocks, a.total.blocks);
	hl_answer_fini(&a);
}

/* --- runs --- */

struct want {
	const char *name;
	unsigned depth;
	uint64_t total;
	const char *via;
};

static void check_tree(
	const struct hl_tree *t, struct hl_model *m, const struct want *want, size_t n)
{
	uint32_t stack[16], next[16] = {0};
	size_t depth = 0, seen = 0;

	stack[0] = 0;
	for (;;) {
		const struct hl_tree_node *node = &t->nodes[stack[depth]];
		const char *via;

		if (next[depth] == node->n_children) {
			if (depth-- == 0)
				break;
			continue;
		}
		stack[depth + 1] = t->children[node->first_child + next[depth]++];
		next[++depth] = 0;
		node = &t->nodes[stack[depth]];
		via = node->via == HL_NODE_NONE ? "" : hl_model_frame(m, node->via)->function;
		assert_true(seen < n);
		assert_string_equal(hl_model_frame(m, node->frame)->function, want[seen].name);
		assert_int_equal(depth, want[seen].depth);
		assert_int_equal(node->total.bytes, want[seen].total);
		assert_string_equal(via, want[seen].via ? want[seen].via : "");
		seen++;
	}
	assert_int_equal(seen, n);
}

#define MAP    "std::map<int, int>::operator[](int&&)"
#define TREE   "std::_Rb_tree<int, int>::_M_insert()"
#define VECTOR "std::vector<int>::push_back(int const&)"
#define NEW    "operator new(unsigned long)"

static void runs_are_one_node(void **state)
{
	static const struct want down[] = {
		{"main", 1, 1515, NULL},
		{"put", 2, 1315, NULL},
		{"[6 frames of std::vector]", 3, 1000, NULL},
		{"[3 frames of std::map]", 3, 300, NULL}, /* 2 and 3 frames */
		{"less", 4, 10, NULL},
		{NEW, 2, 200, NULL}, /* a run of one frame */
		{"[3 frames of fopen]", 1, 3, NULL},
	};
	static const struct want up[] = {
		{"put", 1, 1305, NULL}, /* std::map, std::vector and malloc */
		{"main", 2, 1305, NULL},
		{"main", 1, 200, "operator new"},
		{"less", 1, 10, NULL},
		{"[2 frames of std::map]", 2, 10, NULL},
		{"put", 3, 10, NULL},
		{"main", 4, 10, NULL},
		{"libc_only", 1, 3, NULL}, /* no own frame: the innermost one, then a run */
		{"[2 frames of fopen]", 2, 3, NULL},
	};
	struct named_trace *t = calloc(1, sizeof(*t));
	struct hl_model *m;
	struct hl_tree tree;

	NAMED_STACK(t, 200, "main", NEW);
	NAMED_STACK(t, 90, "main", "put", MAP, TREE);
	NAMED_STACK(t, 200, "main", "put", MAP, TREE, NEW);
	NAMED_STACK(t, 10, "main", "put", MAP, TREE, "less");
	NAMED_STACK(t, 1000, "main", "put", VECTOR, VECTOR, VECTOR, TREE, TREE, NEW);
	NAMED_STACK(t, 15, "main", "put");
	NAMED_STACK(t, 3, "libc:__fopen", "libc:inside", "libc:libc_only");
	m = open_trace(t);
	build(&tree, m, true, false, false);
	check_tree(&tree, m, down, HL_ARRAY_LEN(down));
	hl_tree_fini(&tree);
	build(&tree, m, true, true, false);
	check_tree(&tree, m, up, HL_ARRAY_LEN(up));
	hl_tree_fini(&tree);
	close_trace(m, t);
}

/* A stack that has nothing but frames before main is shown in full. */
static void stacks_of_startup_are_not_folded(void **state)
{
	const struct hl_query q = {.to.kind = HL_TIME_SPEC_END};
	struct hl_tree_opts opts = {.fold = true, .omit_runtime_frames = true};
	struct named_trace *t = calloc(1, sizeof(*t));
	struct hl_answer a;
	struct hl_model *m;
	struct hl_tree tree;

	NAMED_STACK(t, 5, "libc:clone3", "libc:start_thread");
	m = open_trace(t);
	for (int inverted = 0; inverted < 2; inverted++) {
		opts.inverted = inverted;
		assert_int_equal(hl_model_query(m, &q, &a), 0);
		assert_int_equal(hl_tree_build(&tree, m, &a, &opts), 0);
		assert_int_equal(tree.n_nodes, 3);
		assert_int_equal(tree.nodes[1].folded + tree.nodes[2].folded, 0);
		hl_tree_fini(&tree);
		hl_answer_fini(&a);
	}
	close_trace(m, t);
}

/* A run may be as long as a stack: nothing here is recursive, and each node is visited once. */
static void deep_runs_are_folded(void **state)
{
	struct named_trace *t = calloc(1, sizeof(*t));
	const char *name = MAP, *own = "own";
	uint32_t node = HL_NODE_NONE;
	struct hl_model *m;
	struct hl_tree tree;

	node = named_trace_node(t, node, &own, 1);
	for (unsigned i = 0; i < NAMED_NODES_MAX - 1; i++) {
		node = named_trace_node(t, node, &name, 1);
		if (i % 2)
			named_trace_block(t, node, 1);
	}
	m = open_trace(t);
	for (int inverted = 0; inverted < 2; inverted++) {
		build(&tree, m, true, inverted, false);
		assert_int_equal(tree.n_nodes, inverted ? 2 : 3);
		hl_tree_fini(&tree);
	}
	close_trace(m, t);
}

/* --- random trees --- */

static const char *const functions[] = {"own1", "own2", "own3", "own4", MAP, TREE, VECTOR, NEW,
	"libc:strdup", "libc:fopen", "inl:own5", "inl:" MAP, "inl:std::sort<int>(int*, int*)"};

static struct named_trace *random_trace(uint64_t seed)
{
	struct named_trace *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	while (t->n_nodes < 600) {
		uint64_t r = hl_hash_u64(seed * 100000 + t->n_nodes);
		uint32_t parent = t->n_nodes == 0 || r % 50 == 0
					  ? HL_NODE_NONE
					  : (uint32_t)(t->n_nodes - 1 - (r >> 8) % 20 % t->n_nodes);
		struct named_node *n = &t->nodes[t->n_nodes++];

		*n = (struct named_node){.parent = parent, .n = 1 + (r >> 16) % 3};
		n->name[0] = functions[(r >> 20) % 10];
		if (strncmp(n->name[0], "libc:", 5) == 0)
			n->n = 1; /* all frames of libc are plumbing */
		for (size_t i = 1; i < n->n; i++)
			n->name[i] = functions[10 + (r >> (20 + 4 * i)) % 3];
		if ((r >> 40) % 3 == 0)
			named_trace_block(t, t->n_nodes - 1, (r >> 44) % 1000);
	}
	return t;
}

static bool is_own(const char *name)
{
	return strncmp(named_trace_text(name), "own", 3) == 0;
}

/* The totals of paths of own frames. */
struct totals {
	struct total {
		uint64_t path, bytes;
	} list[200000];
	size_t n;
};

static void add_total(struct totals *x, uint64_t path, uint64_t bytes)
{
	assert_true(x->n < HL_ARRAY_LEN(x->list));
	x->list[x->n++] = (struct total){path, bytes};
}

static int compare_totals(const void *pa, const void *pb)
{
	const struct total *a = pa, *b = pb;

	return a->path < b->path ? -1 : a->path > b->path;
}

static void merge_totals(struct totals *x)
{
	size_t n = 0;

	qsort(x->list, x->n, sizeof(*x->list), compare_totals);
	for (size_t i = 0; i < x->n; i++) {
		if (n > 0 && x->list[n - 1].path == x->list[i].path)
			x->list[n - 1].bytes += x->list[i].bytes;
		else
			x->list[n++] = x->list[i];
	}
	x->n = n;
}

static uint64_t hash_path(uint64_t path, const char *name)
{
	for (; *name; name++)
		path = hl_hash_pair(path, (unsigned char)*name);
	return path;
}

/* The names of a stack, innermost first. */
static size_t list_names(const struct named_trace *t, uint32_t node, const char **names, size_t max)
{
	size_t n = 0;

	for (; node != HL_NODE_NONE; node = t->nodes[node].parent) {
		for (size_t i = t->nodes[node].n; i-- > 0;) {
			assert_true(n < max);
			names[n++] = named_trace_text(t->nodes[node].name[i]);
		}
	}
	return n;
}

/* The total of each path of own frames, from either end, by the list of stacks. */
static void expect_totals(struct totals *x, const struct named_trace *t, bool inverted)
{
	const char *names[4096];

	x->n = 0;
	for (size_t k = 0; k < t->n_blocks; k++) {
		size_t n = list_names(t, t->blocks[k].node, names, HL_ARRAY_LEN(names));
		uint64_t path = 1;

		for (size_t i = 0; i < n; i++) {
			const char *name = names[inverted ? i : n - 1 - i];

			if (!is_own(name))
				continue;
			path = hash_path(path, name);
			add_total(x, path, t->blocks[k].size);
		}
	}
	merge_totals(x);
}

static void find_totals(struct totals *x, struct hl_model *m, const struct hl_tree *t)
{
	uint64_t *paths = calloc(t->n_nodes, sizeof(*paths));

	x->n = 0;
	paths[0] = 1;
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		const char *name = hl_model_frame(m, t->nodes[i].frame)->function;

		paths[i] = paths[t->nodes[i].parent];
		if (!is_own(name))
			continue;
		paths[i] = hash_path(paths[i], name);
		add_total(x, paths[i], t->nodes[i].total.bytes);
	}
	free(paths);
	merge_totals(x);
}

static void check_totals(const struct totals *a, const struct totals *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->list, b->list, a->n * sizeof(*a->list));
}

/* Each node is its own value and those of its children. */
static void check_sums(const struct hl_tree *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		uint64_t sum = t->nodes[i].self.bytes;

		for (uint32_t k = 0; k < t->nodes[i].n_children; k++)
			sum += t->nodes[t->children[t->nodes[i].first_child + k]].total.bytes;
		assert_int_equal(sum, t->nodes[i].total.bytes);
	}
}

static void folding_keeps_totals(void **state)
{
	struct totals *want = malloc(sizeof(*want)), *got = malloc(sizeof(*got));

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct named_trace *t = random_trace(seed);
		struct hl_model *m = open_trace(t);

		for (int i = 0; i < 4; i++) {
			bool fold = i & 1, inverted = i & 2;
			struct hl_tree tree;

			build(&tree, m, fold, inverted, false);
			check_sums(&tree);
			expect_totals(want, t, inverted);
			find_totals(got, m, &tree);
			check_totals(want, got);
			hl_tree_fini(&tree);
		}
		close_trace(m, t);
	}
	free(want);
	free(got);
}

/* The parts of totals by site are those of the sites. */
static void totals_have_parts_by_site(void **state)
{
	struct named_trace *t = random_trace(7);
	struct hl_model *m = open_trace(t);
	const char *names[4096];
	uint64_t at_own = 0, all = 0;
	struct hl_tree tree;

	build(&tree, m, false, false, true);
	for (size_t k = 0; k < t->n_blocks; k++) {
		size_t n = list_names(t, t->blocks[k].node, names, HL_ARRAY_LEN(names)), i = 0;

		while (i < n && !is_own(names[i]))
			i++;
		at_own += i < n ? t->blocks[k].size : 0;
		all += t->blocks[k].size;
	}
	for (uint32_t i = 1; i < tree.n_nodes; i++) {
		const struct hl_tree_node *n = &tree.nodes[i];

		assert_true(n->site.bytes <= n->total.bytes);
		all -= n->site.bytes;
		if (is_own(hl_model_frame(m, n->frame)->function))
			at_own -= n->site.bytes;
	}
	assert_int_equal(all, 0);
	assert_int_equal(at_own, 0);
	hl_tree_fini(&tree);
	close_trace(m, t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(runs_are_one_node),
		cmocka_unit_test(stacks_of_startup_are_not_folded),
		cmocka_unit_test(deep_runs_are_folded), cmocka_unit_test(folding_keeps_totals),
		cmocka_unit_test(totals_have_parts_by_site)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
