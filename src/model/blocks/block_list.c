/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_list.c - see block_list.h.
 *
 * The rows are in a heap whose root is the last of them in the order: a block that comes after the
 * root is not on the page, another one replaces the root. The heap has ranks, and the indexes of
 * blocks, which do not move.
 */
#include "model/blocks/block_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/query/query_plan.h"

struct entry {
	struct hl_block_cursor at;
	uint32_t block; /* index in blocks */
};

struct list_reader {
	const struct hl_block_page *page;
	size_t max; /* rows to keep: one more than the page ends at */
	HL_VEC(struct entry) heap;
	HL_VEC(struct hl_block) blocks;
	uint64_t n_all, n_after; /* blocks, and those behind the cursor */
};

/* --- the order --- */

static bool is_before(const struct hl_block_cursor *a, const struct hl_block_cursor *b)
{
	return a->rank < b->rank || (a->rank == b->rank && a->tie < b->tie);
}

/* Lower is earlier. */
static struct hl_block_cursor rank_of(const struct hl_block_page *page, const struct hl_block *b)
{
	struct hl_block_cursor c = {.tie = b->ordinal};

	switch (page->order) {
	case HL_BLOCK_ORDER_TIME:
		c.rank = b->alloc_ns;
		break;
	case HL_BLOCK_ORDER_ADDRESS:
		c.rank = b->addr;
		break;
	case HL_BLOCK_ORDER_SIZE:
		c.rank = ~b->size;
		break;
	case HL_BLOCK_ORDER_LIFE:
		c.rank = b->free_ns == UINT64_MAX ? 0 : ~(b->free_ns - b->alloc_ns);
		break;
	}
	return page->reverse ? (struct hl_block_cursor){~c.rank, ~c.tie} : c;
}

char *hl_block_cursor_text(char text[HL_BLOCK_CURSOR_TEXT], const struct hl_block_cursor *c)
{
	snprintf(text, HL_BLOCK_CURSOR_TEXT, "%" PRIx64 "-%" PRIx64, c->rank, c->tie);
	return text;
}

/* A number of 1 to 16 hexadecimal digits that ends with `end`. */
static const char *parse_hex(const char *s, char end, uint64_t *n)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strspn(s, digits);

	*n = 0;
	if (len == 0 || len > 16 || s[len] != end)
		return NULL;
	for (size_t i = 0; i < len; i++)
		*n = *n << 4 | (uint64_t)(strchr(digits, s[i]) - digits);
	return s + len;
}

int hl_block_cursor_parse(struct hl_block_cursor *c, const char *text)
{
	const char *dash = parse_hex(text, '-', &c->rank);

	return dash && parse_hex(dash + 1, '\0', &c->tie) ? 0 : -EINVAL;
}

/* --- the heap --- */

static void swap(struct entry *a, struct entry *b)
{
	struct entry x = *a;

	*a = *b;
	*b = x;
}

static void sift_up(struct entry *heap, size_t i)
{
	for (; i > 0 && is_before(&heap[(i - 1) / 2].at, &heap[i].at); i = (i - 1) / 2)
		swap(&heap[(i - 1) / 2], &heap[i]);
}

static void sift_down(struct entry *heap, size_t n)
{
	for (size_t i = 0, next; (next = 2 * i + 1) < n; i = next) {
		next += next + 1 < n && is_before(&heap[next].at, &heap[next + 1].at);
		if (!is_before(&heap[i].at, &heap[next].at))
			break;
		swap(&heap[i], &heap[next]);
	}
}

static int add_row(
	struct list_reader *r, const struct hl_block *b, const struct hl_block_cursor *at)
{
	struct entry e = {.at = *at, .block = (uint32_t)r->blocks.len};
	int err = hl_vec_push(&r->blocks, *b);

	if (!err)
		err = hl_vec_push(&r->heap, e);
	if (!err)
		sift_up(r->heap.data, r->heap.len - 1);
	return err;
}

static int take_block(void *arg, const struct hl_block *b, const struct hl_value *value)
{
	struct list_reader *r = arg;
	struct hl_block_cursor at = rank_of(r->page, b);
	struct entry *root = r->heap.data;

	r->n_all++;
	if (r->page->has_after && !is_before(&r->page->after, &at))
		return 0;
	r->n_after++;
	if (r->heap.len < r->max)
		return add_row(r, b, &at);
	if (!is_before(&at, &root->at))
		return 0;
	root->at = at;
	r->blocks.data[root->block] = *b;
	sift_down(r->heap.data, r->heap.len);
	return 0;
}

static void begin_rows(void *arg)
{
	struct list_reader *r = arg;

	r->heap.len = r->blocks.len = 0;
	r->n_all = r->n_after = 0;
}

/* --- the list --- */

static int compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	return is_before(&a->at, &b->at) ? -1 : is_before(&b->at, &a->at);
}

static int build_rows(struct list_reader *r, struct hl_model *m, struct hl_block_list *l)
{
	const struct hl_block_page *page = r->page;
	size_t end = page->offset + page->limit;

	end = end < r->heap.len ? end : r->heap.len;
	l->n = end > page->offset ? end - page->offset : 0;
	l->n_all = r->n_all;
	l->more = r->n_after > end && l->n > 0;
	l->rows = calloc(l->n + 1, sizeof(*l->rows));
	if (!l->rows)
		return -ENOMEM;
	if (r->heap.len > 0)
		qsort(r->heap.data, r->heap.len, sizeof(*r->heap.data), compare_entries);
	for (size_t i = 0; i < l->n; i++) {
		const struct entry *e = &r->heap.data[page->offset + i];

		l->rows[i].block = r->blocks.data[e->block];
		l->rows[i].cursor = e->at;
		if (l->has_chains)
			l->rows[i].chain = hl_chain_of(m, &l->rows[i].block);
	}
	return 0;
}

/* Without chains a list is still an answer. */
static int load_chains(struct hl_model *m, struct hl_block_list *l)
{
	int err = hl_model_may_have_chains(m) ? hl_model_load_chains(m) : -ENODATA;

	l->has_chains = !err;
	return m->work.stopped || err == -ENOMEM ? err : 0;
}

int hl_block_list_check(struct hl_model *m, const struct hl_query *q)
{
	struct hl_query_plan plan;
	int err = hl_query_bind(q, m);

	if (!err)
		err = hl_query_plan(m, q, &plan);
	return err ? err : hl_query_plan_blocks(m, q);
}

int hl_block_list(struct hl_block_list *l, struct hl_model *m, const struct hl_query *q,
	const struct hl_block_page *page)
{
	struct list_reader r = {.page = page, .max = page->offset + page->limit};
	const struct hl_block_sink sink = {
		.begin = begin_rows, .block = take_block, .with_frees = true, .arg = &r};
	struct hl_query own = *q;
	int err;

	*l = (struct hl_block_list){0};
	own.key = HL_KEY_CALL; /* the rows show the called function */
	err = hl_block_list_check(m, &own);
	if (!err)
		err = load_chains(m, l);
	if (!err)
		err = hl_query_blocks(m, &own, &sink, &l->answer);
	if (!err) {
		err = build_rows(&r, m, l);
		if (err)
			hl_model_fail(m, err);
	}
	hl_vec_free(&r.heap);
	hl_vec_free(&r.blocks);
	if (err)
		hl_block_list_fini(l);
	return err;
}

void hl_block_list_fini(struct hl_block_list *l)
{
	free(l->rows);
	*l = (struct hl_block_list){0};
}
