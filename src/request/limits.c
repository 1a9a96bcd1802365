/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.c - which rows of a result are shown.
 */
#include "request/limits.h"

#include <stdlib.h>

uint64_t hl_limits_minimum(const struct hl_limits *l, const struct hl_value *total)
{
	double least = (double)hl_limits_size(l, total) * l->min_percent / 100;

	return least > 0 ? (uint64_t)least + ((double)(uint64_t)least < least) : 0;
}

struct rank {
	uint64_t size;
	size_t at;
};

static int compare_ranks(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

bool *hl_limits_select(const struct hl_limits *l, const void *rows, size_t n,
	uint64_t (*size_of)(const void *rows, size_t i, const struct hl_limits *l), uint64_t least)
{
	struct rank *ranks = calloc(n + 1, sizeof(*ranks));
	bool *shown = calloc(n + 1, sizeof(*shown));

	if (!ranks || !shown) {
		free(ranks);
		free(shown);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		ranks[i] = (struct rank){.size = size_of(rows, i, l), .at = i};
	qsort(ranks, n, sizeof(*ranks), compare_ranks);
	if (n > 0 && ranks[0].size < least && l->least_rows) {
		least = 1; /* not a row without a value */
		n = n < l->least_rows ? n : l->least_rows;
	}
	for (size_t i = 0; i < n && !(l->limited && i == l->limit); i++)
		shown[ranks[i].at] = ranks[i].size >= least;
	free(ranks);
	return shown;
}

bool hl_limits_keep_small(const struct hl_table *t)
{
	return hl_group_is_ordered(t->group) && t->group != HL_GROUP_THREAD;
}

static uint64_t table_minimum(const struct hl_limits *l, const struct hl_table *t)
{
	return hl_limits_keep_small(t) ? 0 : hl_limits_minimum(l, &t->total);
}

static uint64_t row_size(const void *rows, size_t i, const struct hl_limits *l)
{
	return hl_limits_size(l, &((const struct hl_table_row *)rows)[i].value);
}

/* Selects the first rows in the table's order. */
static bool *select_first_rows(const struct hl_limits *l, const struct hl_table *t, uint64_t least)
{
	bool *shown = calloc(t->n + 1, sizeof(*shown));
	size_t n = 0;

	for (size_t i = 0; shown && i < t->n && !(l->limited && n == l->limit); i++) {
		shown[i] = row_size(t->rows, i, l) >= least;
		n += shown[i];
	}
	return shown;
}

static bool has_large_row(const struct hl_limits *l, const struct hl_table *t, uint64_t least)
{
	for (size_t i = 0; i < t->n; i++) {
		if (row_size(t->rows, i, l) >= least)
			return true;
	}
	return false;
}

bool *hl_limits_select_table(const struct hl_limits *l, const struct hl_table *t)
{
	uint64_t least = table_minimum(l, t);

	/* Without a large row the largest ones are shown, in whatever order the table is. */
	return l->keep_order || (l->least_rows && !has_large_row(l, t, least))
		       ? hl_limits_select(l, t->rows, t->n, row_size, least)
		       : select_first_rows(l, t, least);
}

size_t hl_limits_table_rows(const struct hl_limits *l, const struct hl_table *t)
{
	bool *shown = hl_limits_select_table(l, t);
	size_t last = t->n;

	while (shown && last > 0 && !shown[last - 1])
		last--;
	free(shown);
	return last;
}
