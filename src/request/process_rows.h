/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_rows.h - the rows of --group process: one for each process of a run, their order and
 * their shares.
 */
#ifndef HL_REQUEST_PROCESS_ROWS_H
#define HL_REQUEST_PROCESS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/query/query.h"

struct hl_process_row {
	uint64_t resident_bytes; /* the highest sample; 0: there is none */
	char *program;           /* owned by the caller */
	uint64_t pid;
	char *what; /* "live at the peak"; owned by the caller */
	struct hl_value value;
	char *suppressed; /* lines about suppressed blocks, owned by the caller; NULL: none */
};

/* Indexes of the rows, the largest first. NULL: no memory; then their order is that of the
 * operands. The caller frees them. */
size_t *hl_process_rows_rank(const struct hl_process_row *rows, size_t n, bool by_blocks);
/* In millionths of the total; 0 if that is 0. */
uint64_t hl_process_row_share(
	const struct hl_process_row *row, const struct hl_value *total, bool by_blocks);

#endif
