/* SPDX-License-Identifier: Apache-2.0 */
/* process_rows.c - see process_rows.h. */
#include "request/process_rows.h"

#include <stdlib.h>

struct row_order {
	const struct hl_process_row *rows;
	bool by_blocks;
};

static uint64_t size_of(const struct hl_value *v, bool by_blocks)
{
	return by_blocks ? v->blocks : v->bytes;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct row_order *o = arg;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	uint64_t x = size_of(&o->rows[i].value, o->by_blocks),
		 y = size_of(&o->rows[k].value, o->by_blocks);

	if (x != y)
		return x > y ? -1 : 1;
	return i < k ? -1 : i > k;
}

size_t *hl_process_rows_rank(const struct hl_process_row *rows, size_t n, bool by_blocks)
{
	struct row_order o = {rows, by_blocks};
	size_t *order = calloc(n + 1, sizeof(*order));

	for (size_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order && n)
		qsort_r(order, n, sizeof(*order), compare_rows, &o);
	return order;
}

uint64_t hl_process_row_share(
	const struct hl_process_row *row, const struct hl_value *total, bool by_blocks)
{
	uint64_t part = size_of(&row->value, by_blocks), whole = size_of(total, by_blocks);

	return whole ? (uint64_t)((unsigned __int128)part * 1000000 / whole) : 0;
}
