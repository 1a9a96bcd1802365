/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - which rows of a result are shown: a minimum share, a maximum number, and the value
 * that both apply to.
 */
#ifndef HL_REQUEST_LIMITS_H
#define HL_REQUEST_LIMITS_H

#include "model/query/query.h"
#include "model/stack/flat_table.h"

struct hl_limits {
	double min_percent; /* rows below this share of the total are omitted */
	/* If all rows are below the minimum, the largest ones, up to this number, are shown. */
	size_t least_rows;
	bool limited; /* show at most `limit` rows, or children of a tree node */
	size_t limit;
	/* Of a table whose rows are not sorted by size: the limit keeps the largest ones. Other
	 * lists of this kind call hl_limits_select(). */
	bool keep_order;
	bool by_blocks; /* shares, order and limits use blocks instead of bytes */
};

/* Bytes or blocks. */
static inline uint64_t hl_limits_size(const struct hl_limits *l, const struct hl_value *v)
{
	return l->by_blocks ? v->blocks : v->bytes;
}

/* The minimum of bytes, or blocks, of a row that is shown, for this total. */
uint64_t hl_limits_minimum(const struct hl_limits *l, const struct hl_value *total);

/*
 * Selects the rows to show of n rows that are not sorted by size: the l->limit largest, of equal
 * ones the first, and none below `least`. The caller frees the result. NULL (out of memory): show
 * all.
 */
bool *hl_limits_select(const struct hl_limits *l, const void *rows, size_t n,
	uint64_t (*size_of)(const void *rows, size_t i, const struct hl_limits *l), uint64_t least);

/* Rows of sizes, lifetimes and snapshots form a scale. Small rows are not omitted from it, because
 * a scale must not have gaps. */
bool hl_limits_keep_small(const struct hl_table *t);
/* The same for a table. */
bool *hl_limits_select_table(const struct hl_limits *l, const struct hl_table *t);
/* The number of rows up to the last one that is shown. */
size_t hl_limits_table_rows(const struct hl_limits *l, const struct hl_table *t);

#endif
