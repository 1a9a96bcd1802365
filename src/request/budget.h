/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget.h - the most time, rows and bytes that the answer to a request may take.
 *
 * The limits are keys of the request. The time is enforced where the work is done
 * (util/work/work.h), and a part that needs more is refused. Rows and bytes are enforced by the
 * renderers, which write whole rows only and say what is left out.
 */
#ifndef HL_REQUEST_BUDGET_H
#define HL_REQUEST_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/query/query.h"

/* 0: no limit. */
struct hl_budget {
	uint64_t max_ns;
	uint64_t max_rows, max_bytes;
};

/* Less is not enough for the text around the rows. */
#define HL_BUDGET_BYTES_MIN 4096

/*
 * The rows of an answer as they are written. Rows do not nest: a detail of a row is a part of it,
 * or a row of its own without a value. A row that was begun is ended, also after an error. One
 * struct serves a whole document, which may have several results. NULL: no limit. A renderer writes
 * rows like this:
 *
 *	if (!hl_row_begin(rows, out, &value))
 *		continue;
 *	... write the row ...
 *	hl_row_end(rows);
 */
struct hl_row_limit {
	struct hl_budget budget;
	uint64_t rows; /* written */
	bool full;     /* a row did not fit: no other is written */
	bool by_bytes; /* it was too long, not one too many */

	/* The current row. */
	FILE *out;
	int64_t begin;
	bool comma; /* the state of a JSON writer at its begin */
	struct hl_value value;
	bool has_value;

	/* What was left out of the current result. */
	uint64_t omitted;
	struct hl_value omitted_value;
	bool no_values; /* some of these rows have no value that can be added */
};

/* With a limit of bytes, `out` of all rows must be a seekable stream that has the whole document.
 */
void hl_row_limit_init(struct hl_row_limit *l, const struct hl_budget *b);
/* Returns false if the row is to be left out. value: what it stands for in the sum of the rows that
 * are left out; NULL: it cannot be added. */
bool hl_row_begin(struct hl_row_limit *l, FILE *out, const struct hl_value *value);
/* Returns false if the row was too long and has been removed from the stream. */
bool hl_row_end(struct hl_row_limit *l);
/* Is there room for this many bytes that are not a row? If not, they count as a row left out. */
bool hl_row_fits(struct hl_row_limit *l, FILE *out, size_t bytes);
/* Counts n more rows that a renderer leaves out itself. */
void hl_row_omit(struct hl_row_limit *l, uint64_t n, const struct hl_value *value);
/* How many rows can still be written; UINT64_MAX: no limit. */
uint64_t hl_row_limit_left(const struct hl_row_limit *l);
/* Returns whether rows may be left out. */
bool hl_row_limit_is_set(const struct hl_row_limit *l);
/* Begins the next result. */
void hl_row_limit_reset(struct hl_row_limit *l);
/* The option that left rows out: "--max-rows". NULL: nothing is left out. */
const char *hl_row_limit_option(const struct hl_row_limit *l);

#endif
