/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_list_test.c - pages of single blocks in each order, the history of an address, and groups
 * by stack, against the plain list of events.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/scan/realloc_chains.h"
#include "model/testing/test_fake_traces.h"
#include "model/blocks/block_groups.h"
#include "model/blocks/block_list.h"

/* --- the expected blocks --- */

struct expected {
	struct hl_block *blocks; /* by ordinal, then those that are selected, sorted */
	size_t n;
};

static void expected_init(struct expected *x, const struct hl_fake_trace *s)
{
	x->blocks = calloc(s->n_events + 1, sizeof(*x->blocks));
	x->n = 0;
	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];
		struct hl_block *b = &x->blocks[e->ordinal];

		if (e->op == HL_OP_FREE) {
			b->free_ns = e->time_ns;
			b->free_thread = e->thread;
			continue;
		}
		*b = (struct hl_block){.ordinal = e->ordinal,
			.addr = e->addr,
			.size = e->size,
			.alloc_ns = e->time_ns,
			.free_ns = UINT64_MAX,
			.node = e->node,
			.thread = e->thread};
		x->n++;
	}
}

static void select_blocks(
	struct expected *x, bool (*wanted)(const struct hl_block *b, uint64_t arg), uint64_t arg)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		if (wanted(&x->blocks[i], arg))
			x->blocks[n++] = x->blocks[i];
	}
	x->n = n;
}

static uint64_t life_of(const struct hl_block *b)
{
	return b->free_ns == UINT64_MAX ? UINT64_MAX : b->free_ns - b->alloc_ns;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_blocks(const void *pa, const void *pb, void *arg)
{
	const struct hl_block *a = pa, *b = pb;
	const struct hl_block_page *page = arg;
	int c = 0;

	switch (page->order) {
	case HL_BLOCK_ORDER_TIME:
		break;
	case HL_BLOCK_ORDER_ADDRESS:
		c = compare(a->addr, b->addr);
		break;
	case HL_BLOCK_ORDER_SIZE:
		c = compare(b->size, a->size);
		break;
	case HL_BLOCK_ORDER_LIFE:
		c = compare(life_of(b), life_of(a));
		break;
	}
	c = c ? c : compare(a->ordinal, b->ordinal);
	return page->reverse ? -c : c;
}

static void must_be_row(const struct hl_block *want, const struct hl_block *got, const char *what)
{
	if (got->ordinal != want->ordinal || got->addr != want->addr || got->size != want->size ||
		got->alloc_ns != want->alloc_ns || got->free_ns != want->free_ns ||
		got->node != want->node || got->thread != want->thread ||
		(want->free_ns != UINT64_MAX && got->free_thread != want->free_thread))
		fail_msg("%s: block %" PRIu64 " and not %" PRIu64, what, got->ordinal,
			want->ordinal);
}

/* --- pages --- */

static bool is_large(const struct hl_block *b, uint64_t arg)
{
	return b->size >= 100;
}

static bool is_live_at_end(const struct hl_block *b, uint64_t arg)
{
	return b->free_ns == UINT64_MAX;
}

static bool is_grown(const struct hl_block *b, uint64_t half_ns)
{
	return b->alloc_ns >= half_ns && b->free_ns == UINT64_MAX;
}

static bool is_live_at_half(const struct hl_block *b, uint64_t half_ns)
{
	return b->alloc_ns <= half_ns && b->free_ns > half_ns;
}

static const struct {
	const char *name, *filter;
	enum hl_quantity quantity;
	bool (*wanted)(const struct hl_block *b, uint64_t half_ns);
} selections[] = {
	{"large", "size:>=100", HL_QUANTITY_ALLOCATED, is_large},
	{"live at the end", NULL, HL_QUANTITY_LIVE, is_live_at_end},
	{"live in the middle", NULL, HL_QUANTITY_LIVE, is_live_at_half},
	{"growth", NULL, HL_QUANTITY_GROWTH, is_grown},
};

static struct hl_query make_query(size_t selection, uint64_t half_ns)
{
	struct hl_query q = {
		.quantity = selections[selection].quantity, .to = {.kind = HL_TIME_SPEC_END}};
	struct hl_filter_error error;

	if (selections[selection].wanted == is_live_at_half)
		q.to = (struct hl_time_spec){.ns = half_ns};
	if (q.quantity == HL_QUANTITY_GROWTH)
		q.from = (struct hl_time_spec){.ns = half_ns};
	if (selections[selection].filter)
		assert_int_equal(
			hl_filter_parse(&q.filter, selections[selection].filter, &error), 0);
	return q;
}

/* All pages behind each other are the list, and one page from the middle is its middle. */
static void check_pages(
	struct hl_model *m, const struct hl_query *q, const struct expected *x, const char *what)
{
	struct hl_block_page page = {.limit = x->n / 3 + 1};
	struct hl_block_list l;
	size_t at = 0;

	for (unsigned k = 0; k < 8; k++) {
		page.order = (enum hl_block_order)(k / 2);
		page.reverse = k % 2;
		page.has_after = false;
		page.offset = 0;
		qsort_r(x->blocks, x->n, sizeof(*x->blocks), compare_blocks, &page);
		for (at = 0; at < x->n; at += l.n, hl_block_list_fini(&l)) {
			assert_int_equal(hl_block_list(&l, m, q, &page), 0);
			assert_int_equal(l.answer.total.blocks, x->n);
			assert_int_equal(l.n_all, x->n);
			assert_true(l.n > 0 && at + l.n <= x->n && l.has_chains);
			assert_int_equal(l.more, at + l.n < x->n);
			for (size_t i = 0; i < l.n; i++)
				must_be_row(&x->blocks[at + i], &l.rows[i].block, what);
			page.has_after = true;
			page.after = l.rows[l.n - 1].cursor;
		}
		assert_int_equal(hl_block_list(&l, m, q, &page), 0);
		assert_true(l.n == 0 && !l.more);
		hl_block_list_fini(&l);
		page.has_after = false;
		page.offset = x->n / 2;
		assert_int_equal(hl_block_list(&l, m, q, &page), 0);
		assert_true(
			l.n == (x->n - page.offset < page.limit ? x->n - page.offset : page.limit));
		for (size_t i = 0; i < l.n; i++)
			must_be_row(&x->blocks[page.offset + i], &l.rows[i].block, what);
		hl_block_list_fini(&l);
	}
}

static void pages_equal_the_plain_list(void **state)
{
	for (size_t k = 0; k < 4 * HL_ARRAY_LEN(selections); k++) {
		size_t selection = k % HL_ARRAY_LEN(selections);
		struct hl_fake_trace s;
		struct expected x;
		struct hl_model *m;
		struct hl_query q;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k / HL_ARRAY_LEN(selections)]), 0);
		m = open_model(s.path);
		expected_init(&x, &s);
		select_blocks(&x, selections[selection].wanted, s.duration_ns / 2);
		assert_true(x.n > 3);
		q = make_query(selection, s.duration_ns / 2);
		check_pages(m, &q, &x, selections[selection].name);
		hl_filter_free(q.filter);
		hl_model_close(m);
		free(x.blocks);
		hl_fake_trace_free(&s);
	}
}

static void cursors_are_read_as_they_are_written(void **state)
{
	static const char *const bad[] = {"", "-", "1", "1-", "-1", "1-2-3", "1-2 ", "0x1-2", "1-G",
		"11112222333344445-1", "1-11112222333344445", "A-1"};
	struct hl_block_cursor c = {UINT64_MAX, 0x2a}, back;
	char text[HL_BLOCK_CURSOR_TEXT];

	assert_int_equal(hl_block_cursor_parse(&back, hl_block_cursor_text(text, &c)), 0);
	assert_true(back.rank == c.rank && back.tie == c.tie);
	for (size_t i = 0; i < HL_ARRAY_LEN(bad); i++) {
		if (hl_block_cursor_parse(&back, bad[i]) != -EINVAL)
			fail_msg("\"%s\" is accepted", bad[i]);
	}
}

/* --- the history of an address --- */

static bool has_address(const struct hl_block *b, uint64_t addr)
{
	return addr >= b->addr && addr - b->addr < (b->size ? b->size : 1);
}

/* Also the blocks that do not begin there. */
static void history_has_each_block_at_an_address(void **state)
{
	size_t inside = 0, several = 0;

	for (size_t k = 0; k < 60; k++) {
		struct hl_block_page page = {.limit = HL_BLOCK_LIST_MAX};
		struct hl_query q = {
			.quantity = HL_QUANTITY_ALLOCATED, .to = {.kind = HL_TIME_SPEC_END}};
		struct hl_filter_error error;
		struct hl_fake_trace s;
		struct hl_block_list l;
		struct expected x;
		struct hl_model *m;
		const struct hl_block *any;
		char expr[64];
		uint64_t addr;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k % 3]), 0);
		m = open_model(s.path);
		expected_init(&x, &s);
		any = &x.blocks[hl_hash_u64(k) % x.n];
		addr = any->addr + (any->size ? hl_hash_u64(~k) % any->size : 0);
		inside += addr != any->addr;
		select_blocks(&x, has_address, addr);
		several += x.n > 1;
		snprintf(expr, sizeof(expr), "addr:0x%" PRIx64, addr);
		assert_int_equal(hl_filter_parse(&q.filter, expr, &error), 0);
		assert_int_equal(hl_block_list(&l, m, &q, &page), 0);
		assert_int_equal(l.n, x.n);
		for (size_t i = 0; i < l.n; i++)
			must_be_row(&x.blocks[i], &l.rows[i].block, expr);
		hl_block_list_fini(&l);
		hl_filter_free(q.filter);
		hl_model_close(m);
		free(x.blocks);
		hl_fake_trace_free(&s);
	}
	assert_true(inside > 10 && several > 10);
}

/* --- groups --- */

static void add_run(struct hl_stack_group *g, const struct hl_event *e, uint64_t *live)
{
	if (e->op == HL_OP_FREE) {
		*live -= e->size;
		g->leaked_blocks--;
		g->leaked_bytes -= e->size;
		return;
	}
	g->first_ns = g->blocks == 0 ? e->time_ns : g->first_ns;
	g->last_ns = e->time_ns;
	g->blocks++;
	g->bytes += e->size;
	g->leaked_blocks++;
	g->leaked_bytes += e->size;
	*live += e->size;
	if (*live > g->peak_bytes) {
		g->peak_bytes = *live;
		g->peak_ns = e->time_ns;
	}
}

static struct hl_stack_group *expected_groups(const struct hl_fake_trace *s)
{
	struct hl_stack_group *g = calloc((size_t)s->nodes + 1, sizeof(*g));
	uint64_t *live = calloc((size_t)s->nodes + 1, sizeof(*live));

	for (size_t i = 0; i < s->n_events; i++) {
		uint32_t at = s->events[i].node == HL_NODE_NONE ? s->nodes : s->events[i].node;

		add_run(&g[at], &s->events[i], &live[at]);
	}
	free(live);
	return g;
}

static void must_be_group(const struct hl_stack_group *want, const struct hl_stack_group *got)
{
	assert_int_equal(got->blocks, want->blocks);
	assert_int_equal(got->bytes, want->bytes);
	assert_int_equal(got->leaked_blocks, want->leaked_blocks);
	assert_int_equal(got->leaked_bytes, want->leaked_bytes);
	assert_int_equal(got->first_ns, want->first_ns);
	assert_int_equal(got->last_ns, want->last_ns);
	assert_int_equal(got->peak_bytes, want->peak_bytes);
	assert_int_equal(got->peak_ns, want->peak_ns);
}

static void must_be_matched(const struct expected *x, const struct hl_block_group *g)
{
	struct hl_block_group want = {.first_ns = UINT64_MAX};

	for (size_t i = 0; i < x->n; i++) {
		const struct hl_block *b = &x->blocks[i];

		if (b->node != g->node)
			continue;
		want.value.blocks++;
		want.value.bytes += b->size;
		want.leaked_blocks += b->free_ns == UINT64_MAX;
		want.first_ns = b->alloc_ns < want.first_ns ? b->alloc_ns : want.first_ns;
		want.last_ns = b->alloc_ns > want.last_ns ? b->alloc_ns : want.last_ns;
	}
	assert_int_equal(g->value.blocks, want.value.blocks);
	assert_int_equal(g->value.bytes, want.value.bytes);
	assert_int_equal(g->leaked_blocks, want.leaked_blocks);
	assert_int_equal(g->first_ns, want.first_ns);
	assert_int_equal(g->last_ns, want.last_ns);
}

static size_t count_stacks(const struct expected *x, uint32_t nodes)
{
	bool *seen = calloc((size_t)nodes + 1, sizeof(*seen));
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		uint32_t at = x->blocks[i].node == HL_NODE_NONE ? nodes : x->blocks[i].node;

		n += !seen[at];
		seen[at] = true;
	}
	free(seen);
	return n;
}

static void groups_equal_the_plain_count(void **state)
{
	for (size_t k = 0; k < 3; k++) {
		struct hl_query q = make_query(0, 0);
		struct hl_block_groups groups;
		struct hl_stack_group *runs;
		struct hl_fake_trace s;
		struct expected x;
		struct hl_model *m;
		uint64_t blocks = 0;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k == 2 ? 3 : k * 2]), 0);
		m = open_model(s.path);
		expected_init(&x, &s);
		select_blocks(&x, is_large, 0);
		runs = expected_groups(&s);
		assert_int_equal(hl_block_groups(&groups, m, &q, HL_GROUP_ORDER_BYTES, false), 0);
		assert_int_equal(groups.n, count_stacks(&x, s.nodes));
		for (size_t i = 0; i < groups.n; i++) {
			const struct hl_block_group *g = &groups.rows[i];

			must_be_group(&runs[g->node == HL_NODE_NONE ? s.nodes : g->node], &g->run);
			must_be_matched(&x, g);
			blocks += g->value.blocks;
		}
		assert_int_equal(blocks, x.n);
		hl_block_groups_fini(&groups);
		hl_filter_free(q.filter);
		hl_model_close(m);
		free(runs);
		free(x.blocks);
		hl_fake_trace_free(&s);
	}
}

static int64_t amount_of(const struct hl_block_group *g, enum hl_group_order order)
{
	const int64_t amounts[] = {-(int64_t)g->value.bytes, -(int64_t)g->value.blocks,
		-(int64_t)g->leaked_blocks, (int64_t)g->first_ns, (int64_t)g->last_ns,
		(int64_t)(g->first_ns - g->last_ns), -(int64_t)g->run.blocks,
		-(int64_t)g->run.leaked_blocks, (int64_t)g->run.first_ns, (int64_t)g->run.last_ns,
		(int64_t)(g->run.first_ns - g->run.last_ns), (int64_t)g->run.peak_ns};

	return amounts[order];
}

static void groups_are_sorted(void **state)
{
	struct hl_query q = make_query(0, 0);
	struct hl_block_groups groups;
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	for (unsigned k = 0; k < 24; k++) {
		enum hl_group_order order = (enum hl_group_order)(k / 2);

		assert_int_equal(hl_block_groups(&groups, m, &q, order, k % 2), 0);
		assert_true(groups.n > 100);
		for (size_t i = 1; i < groups.n; i++) {
			int64_t a = amount_of(&groups.rows[i - 1], order),
				b = amount_of(&groups.rows[i], order);

			if (k % 2 ? a < b : a > b)
				fail_msg("order %u, row %zu", k / 2, i);
		}
		hl_block_groups_fini(&groups);
	}
	hl_filter_free(q.filter);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* --- filters about stacks, groups and frees --- */

struct term_input {
	const struct hl_block *b;
	struct hl_stack_group group;
	unsigned depth;
	uint64_t duration_ns;
};

static bool is_deep(const struct term_input *x)
{
	return x->depth >= 5;
}
static bool is_stack_7(const struct term_input *x)
{
	return x->b->node == 7;
}
static bool is_frequent(const struct term_input *x)
{
	return x->group.blocks >= 40;
}
static bool leaks_two(const struct term_input *x)
{
	return x->group.leaked_blocks >= 2;
}
static bool leaks_a_part(const struct term_input *x)
{
	return x->group.leaked_blocks * 1000 > x->group.blocks * 15;
}
static bool leaks_up_to(const struct term_input *x)
{
	return x->group.leaked_blocks * 100 <= x->group.blocks;
}
static bool is_brief(const struct term_input *x)
{
	return (x->group.last_ns - x->group.first_ns) * 100 < x->duration_ns * 90;
}
static bool peaks_early(const struct term_input *x)
{
	return x->group.peak_ns <= x->duration_ns / 2;
}
static bool is_freed_by_1(const struct term_input *x)
{
	return x->b->free_ns != UINT64_MAX && x->b->free_thread == 1;
}

static const struct {
	const char *expr;
	bool (*holds)(const struct term_input *x);
} terms[] = {
	{"depth:>=5", is_deep},
	{"stack:7", is_stack_7},
	{"group-allocated:>=40", is_frequent},
	{"group-leaked:>=2", leaks_two},
	{"group-leaked:>1.5%", leaks_a_part},
	{"group-leaked:<=1%", leaks_up_to},
	{"group-interval:<90%", is_brief},
	{"group-peak:..50%", peaks_early},
	{"freed-thread:1", is_freed_by_1},
};

static unsigned depth_of(struct hl_model *m, uint32_t node)
{
	unsigned n = 0;

	for (; node != HL_NODE_NONE; node = hl_model_parent(m, node))
		n++;
	return n;
}

/* Terms about stacks are answered from sums and from events, with the same result. */
static void check_term(struct hl_model *m, const struct hl_fake_trace *s, const struct expected *x,
	const struct hl_stack_group *runs, size_t term)
{
	struct hl_filter_error error;
	uint64_t blocks = 0, bytes = 0;

	for (size_t i = 0; i < x->n; i++) {
		uint32_t node = x->blocks[i].node;
		struct term_input in = {&x->blocks[i], runs[node == HL_NODE_NONE ? s->nodes : node],
			depth_of(m, node), s->duration_ns};

		if (!terms[term].holds(&in))
			continue;
		blocks++;
		bytes += x->blocks[i].size;
	}
	for (unsigned decode = 0; decode < 2; decode++) {
		struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED,
			.to = {.kind = HL_TIME_SPEC_END},
			.decode = decode};
		struct hl_answer a;

		assert_int_equal(hl_filter_parse(&q.filter, terms[term].expr, &error), 0);
		assert_int_equal(hl_model_query(m, &q, &a), 0);
		if (a.total.blocks != blocks || a.total.bytes != bytes)
			fail_msg("%s, decode %u: %" PRIu64 " blocks and not %" PRIu64,
				terms[term].expr, decode, a.total.blocks, blocks);
		hl_answer_fini(&a);
		hl_filter_free(q.filter);
	}
}

static void terms_equal_the_plain_count(void **state)
{
	static const size_t of[] = {0, 2, 3};

	for (size_t k = 0; k < HL_ARRAY_LEN(of); k++) {
		struct hl_fake_trace s;
		struct hl_stack_group *runs;
		struct expected x;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[of[k]]), 0);
		m = open_model(s.path);
		expected_init(&x, &s);
		runs = expected_groups(&s);
		for (size_t i = 0; i < HL_ARRAY_LEN(terms); i++)
			check_term(m, &s, &x, runs, i);
		hl_model_close(m);
		free(runs);
		free(x.blocks);
		hl_fake_trace_free(&s);
	}
}

static void what_a_trace_lacks_is_refused(void **state)
{
	static const struct {
		const char *expr, *why;
		bool damaged;
	} cases[] = {
		{"freed-fn:main", "stacks of frees", false},
		{"freed-stack:1", "stacks of frees", false},
		{"group-peak:..50%", "a part of the file is lost", true},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_fake_trace s;
		struct hl_filter_error error;
		struct hl_filter *f;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
		if (cases[i].damaged)
			flip(s.path, 60000, 8);
		m = open_model(s.path);
		assert_int_equal(hl_filter_parse(&f, cases[i].expr, &error), 0);
		assert_int_equal(hl_filter_bind(f, m), -ENODATA);
		if (!strstr(hl_model_error(m), cases[i].why))
			fail_msg("%s: %s", cases[i].expr, hl_model_error(m));
		hl_filter_free(f);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_equal_the_plain_list),
		cmocka_unit_test(cursors_are_read_as_they_are_written),
		cmocka_unit_test(history_has_each_block_at_an_address),
		cmocka_unit_test(groups_equal_the_plain_count),
		cmocka_unit_test(groups_are_sorted),
		cmocka_unit_test(terms_equal_the_plain_count),
		cmocka_unit_test(what_a_trace_lacks_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
