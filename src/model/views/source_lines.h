/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_lines.h - an answer by the lines of one source file.
 *
 * A line has the blocks with the line anywhere in their stack, each block once. Its own blocks are
 * those whose site (stack/site.h) is the line; the own blocks of all lines of a file are its row in
 * a table by file.
 */
#ifndef HL_MODEL_VIEWS_SOURCE_LINES_H
#define HL_MODEL_VIEWS_SOURCE_LINES_H

#include "model/query/query.h"
#include "symbol/source_file.h"

struct hl_source_line {
	uint32_t line; /* 0: code of the file without a line */
	struct hl_value value, own;
	const char *function; /* a function that has the line; of the model */
};

struct hl_source_lines {
	const char *file;             /* as the debug information names it; of the model */
	struct hl_source_line *lines; /* by line, ascending, those with blocks */
	size_t n;
	struct hl_value value, own; /* of the file: each block once */
	struct hl_source_text text;
};

/*
 * Finds the lines of a file in an answer by stack, and reads the file. `name`: the whole name that
 * frames have, or an end of it that begins after a slash. Returns 0, or -errno with
 * hl_model_error(); -ENOENT: no frame of the trace has such a file; -EINVAL: several have. The
 * caller frees *s with hl_source_lines_fini, after an error, too.
 */
int hl_source_lines_make(struct hl_source_lines *s, struct hl_model *m, const struct hl_answer *a,
	const char *name, size_t name_len);
void hl_source_lines_fini(struct hl_source_lines *s);

#endif
