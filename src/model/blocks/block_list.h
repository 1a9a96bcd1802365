/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_list.h - a page of the single blocks that a query counts, in an order.
 *
 * A trace may have more blocks than memory, so a list is read in pages. A page is the first rows of
 * the order after a number of rows to skip, or after a cursor: the last row of the page before.
 * Each page is a pass over the events that keeps no more rows than the page ends at.
 */
#ifndef HL_MODEL_BLOCKS_BLOCK_LIST_H
#define HL_MODEL_BLOCKS_BLOCK_LIST_H

#include "model/query/query.h"
#include "model/scan/realloc_chains.h"

/* Equal blocks are in the order of their allocation. */
enum hl_block_order {
	HL_BLOCK_ORDER_TIME,    /* of the allocation */
	HL_BLOCK_ORDER_ADDRESS, /* the lowest first */
	HL_BLOCK_ORDER_SIZE,    /* the largest first */
	HL_BLOCK_ORDER_LIFE,    /* not freed, then the longest lifetime first */
};

/* A place in an order: all rows with a lower rank, or an equal rank and a lower tie, are before it.
 */
struct hl_block_cursor {
	uint64_t rank, tie;
};
#define HL_BLOCK_CURSOR_TEXT 40
char *hl_block_cursor_text(char text[HL_BLOCK_CURSOR_TEXT], const struct hl_block_cursor *c);
/* Returns 0 or -EINVAL. */
int hl_block_cursor_parse(struct hl_block_cursor *c, const char *text);

/* The most rows that a page may end at, after those that it skips. */
#define HL_BLOCK_LIST_MAX 100000u

struct hl_block_page {
	enum hl_block_order order;
	bool reverse;
	bool has_after;               /* only rows behind `after` */
	struct hl_block_cursor after; /* of the same order */
	size_t offset, limit;         /* their sum is at most HL_BLOCK_LIST_MAX */
};

struct hl_block_row {
	struct hl_block block;
	struct hl_chain chain;         /* if hl_block_list.has_chains */
	struct hl_block_cursor cursor; /* of this row */
};

struct hl_block_list {
	struct hl_answer answer; /* of all blocks, without values */
	struct hl_block_row *rows;
	size_t n;
	uint64_t n_all; /* rows of all pages, also those before the cursor */
	bool more;      /* there are rows after these */
	bool has_chains;
};

/* Can the trace answer the next function? Returns 0, or -errno with hl_model_error(). */
int hl_block_list_check(struct hl_model *m, const struct hl_query *q);
/* Reads the trace to its end. Returns 0 or -errno with hl_model_error(). The caller frees *l with
 * hl_block_list_fini. */
int hl_block_list(struct hl_block_list *l, struct hl_model *m, const struct hl_query *q,
	const struct hl_block_page *page);
void hl_block_list_fini(struct hl_block_list *l);

#endif
