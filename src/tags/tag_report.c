/* SPDX-License-Identifier: Apache-2.0 */
/* tag_report.c - see tag_report.h. */
#include "tags/tag_report.h"

#include <string.h>

const char *hl_tag_charge_text(const struct hl_tag_report *r)
{
	if (r->requested)
		return "requested bytes; a free is charged to the scope that allocated the block";
	return r->charge_owner
		       ? "usable bytes; a free is charged to the scope that allocated the block"
		       : "usable bytes; a free is charged to the scope that frees";
}

void hl_tag_sums_add(struct hl_tag_sums *to, const struct hl_tag_sums *from)
{
	to->alloc_bytes += from->alloc_bytes;
	to->alloc_blocks += from->alloc_blocks;
	to->free_bytes += from->free_bytes;
	to->free_blocks += from->free_blocks;
}

/* Avoids a 128-bit product: from 2^50 on the lowest bits do not matter. */
uint64_t hl_tag_share(const struct hl_tag_report *r, uint64_t bytes)
{
	uint64_t all = r->all.alloc_bytes;

	if ((int64_t)bytes < 0 || (int64_t)all <= 0)
		return 0; /* in a difference the values may be negative */
	while (bytes >> 50) {
		bytes >>= 1;
		all >>= 1;
	}
	return all ? (bytes * 10000 + all / 2) / all : 0;
}

void hl_tag_sums_from_node(struct hl_tag_sums *to, const struct hl_tag_node *n)
{
	uint64_t reallocs = n->calls[HL_TAG_REALLOC] + n->calls[HL_TAG_REALLOCARRAY];

	*to = (struct hl_tag_sums){.alloc_bytes = n->alloc_bytes, .free_bytes = n->free_bytes};
	for (int i = 0; i < HL_TAG_CALLS; i++)
		if (i == HL_TAG_FREE || i == HL_TAG_DELETE)
			to->free_blocks += n->calls[i];
		else if (i != HL_TAG_REALLOC && i != HL_TAG_REALLOCARRAY)
			to->alloc_blocks += n->calls[i];
	to->alloc_blocks += reallocs - n->realloc_freed;
	to->free_blocks += reallocs - n->realloc_new;
}

/* Signed, because a report may be a difference. */
static bool sorts_before(const struct hl_tag_row *a, const struct hl_tag_row *b)
{
	if (a->total.alloc_bytes != b->total.alloc_bytes)
		return (int64_t)a->total.alloc_bytes > (int64_t)b->total.alloc_bytes;
	return (int64_t)a->total.free_bytes >= (int64_t)b->total.free_bytes;
}

static uint32_t merge_lists(struct hl_tag_row *rows, uint32_t a, uint32_t b)
{
	uint32_t first = HL_TAG_NO_ROW, *end = &first;

	while (a != HL_TAG_NO_ROW && b != HL_TAG_NO_ROW) {
		uint32_t *from = sorts_before(&rows[a], &rows[b]) ? &a : &b;

		*end = *from;
		end = &rows[*from].sibling;
		*from = *end;
	}
	*end = a != HL_TAG_NO_ROW ? a : b;
	return first;
}

/* Sorts a list of siblings by merging runs of 1, 2, 4, ... of them, without additional memory. */
static uint32_t sort_list(struct hl_tag_row *rows, uint32_t list)
{
	uint32_t runs[32];

	for (int i = 0; i < 32; i++)
		runs[i] = HL_TAG_NO_ROW;
	while (list != HL_TAG_NO_ROW) {
		uint32_t run = list;
		int i = 0;

		list = rows[run].sibling;
		rows[run].sibling = HL_TAG_NO_ROW;
		for (; i < 31 && runs[i] != HL_TAG_NO_ROW; i++) {
			run = merge_lists(rows, runs[i], run);
			runs[i] = HL_TAG_NO_ROW;
		}
		runs[i] = run;
	}
	for (int i = 0; i < 32; i++)
		list = merge_lists(rows, runs[i], list);
	return list;
}

void hl_tag_report_finish(struct hl_tag_report *r)
{
	memset(&r->all, 0, sizeof(r->all));
	for (uint32_t i = 0; i < r->n_rows; i++) {
		r->rows[i].total = r->rows[i].self;
		r->rows[i].child = r->rows[i].sibling = HL_TAG_NO_ROW;
		hl_tag_sums_add(&r->all, &r->rows[i].self);
	}
	/* Children come after their parents, so in reverse order each total is complete when it is
	 * added. */
	for (uint32_t i = r->n_rows; i-- > 0;) {
		struct hl_tag_row *row = &r->rows[i];

		if (row->parent == HL_TAG_NO_ROW)
			continue;
		hl_tag_sums_add(&r->rows[row->parent].total, &row->total);
		row->sibling = r->rows[row->parent].child;
		r->rows[row->parent].child = i;
	}
	for (uint32_t i = 0; i < r->n_rows; i++)
		r->rows[i].child = sort_list(r->rows, r->rows[i].child);
}

uint32_t hl_tag_report_next(const struct hl_tag_report *r, uint32_t i, uint32_t *depth)
{
	if (r->rows[i].child != HL_TAG_NO_ROW) {
		++*depth;
		return r->rows[i].child;
	}
	while (r->rows[i].sibling == HL_TAG_NO_ROW) {
		i = r->rows[i].parent;
		if (i == HL_TAG_NO_ROW)
			return i;
		--*depth;
	}
	return r->rows[i].sibling;
}

static bool ends_with(const char *path, size_t len, const struct hl_tag_row *row)
{
	return len >= row->name_len &&
	       !memcmp(path + len - row->name_len, row->name, row->name_len);
}

/* Compares from the end: a name may contain a slash. */
static bool has_path(const struct hl_tag_report *r, const struct hl_tag_row *row, const char *path)
{
	size_t len = strlen(path);

	for (; row->parent != HL_TAG_NO_ROW; row = &r->rows[row->parent]) {
		if (!ends_with(path, len, row))
			return false;
		len -= row->name_len;
		if (len == 0 || path[len - 1] != '/')
			return false;
		len--;
	}
	return (len == 1 && *path == '*') ||
	       (len == row->name_len && !memcmp(path, row->name, len));
}

bool hl_tag_report_find(const struct hl_tag_report *r, const char *path, struct hl_tag_row *sum)
{
	bool found = false;

	memset(sum, 0, sizeof(*sum));
	for (uint32_t i = 0; i < r->n_rows; i++) {
		const struct hl_tag_row *row = &r->rows[i];

		if (!has_path(r, row, path))
			continue;
		found = true;
		hl_tag_sums_add(&sum->self, &row->self);
		hl_tag_sums_add(&sum->total, &row->total);
		sum->entered += row->entered;
		for (int c = 0; c < HL_TAG_CALLS; c++)
			sum->calls[c] += row->calls[c];
	}
	return found;
}
