/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - a trace as text for people.
 *
 * All functions write to a stream of the caller; I/O errors stay in the stream. Names are escaped:
 * they cannot send control sequences to a terminal or break a line.
 */
#ifndef HL_VIEWS_TEXT_TEXT_H
#define HL_VIEWS_TEXT_TEXT_H

#include <stdio.h>

#include "model/model.h"
#include "request/plan.h"
#include "util/strbuf.h"

void hl_text_info(FILE *out, struct hl_model *m, bool color);

/* Appends one sentence about a trace that could not be written to its end. */
/* Where a trace that begins late begins: "begins at 12.5 s of the run; ...". */
void hl_text_base(struct hl_strbuf *b, const struct hl_base *base);
void hl_text_unwritten(struct hl_strbuf *b, const struct hl_unwritten *u);

struct hl_text_opts {
	const char *quantity_text; /* the quantity shown, for the header: "live at the peak" */
	struct hl_limits limits;   /* the rows to show */
	bool unicode;              /* draw lines with box-drawing characters */
	bool color;
	bool exact_bytes; /* "12,345,678 B" instead of "12.4 MiB" */
	size_t width;     /* of the page, in characters */
	bool shorten; /* shorten names in rows that are wider than the page, and wrap other lines */
};

/* Renders any result, and what its suppressions removed. Returns 0, or -errno with
 * hl_model_error(). */
int hl_text_result(FILE *out, struct hl_result *r, const struct hl_text_opts *style);

/* The number of columns of a plot on this page. */
size_t hl_text_timeline_columns(const struct hl_text_opts *opts);

/* One line per process, in the given order. */
struct hl_process_row {
	char *program; /* owned by the caller */
	uint64_t pid;
	char *what; /* "live at the peak"; owned by the caller */
	struct hl_value value;
	char *suppressed; /* lines about suppressed blocks, owned by the caller; NULL: none */
};
void hl_text_processes(FILE *out, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, const struct hl_text_opts *opts);

/* The frames of a stack, innermost first, one per line, prefixed by `before`. Returns 0 or -errno
 * with hl_model_error(). */
int hl_text_stack(FILE *out, struct hl_model *m, uint32_t node, const char *before);

/* Lists the modules whose names or lines are incomplete, and what would help. Prints nothing if
 * there are none. */
void hl_text_missing_names(FILE *out, struct hl_model *m, const struct hl_text_opts *opts);

/* Prints what the suppressions removed. Prints nothing if they removed nothing. */
void hl_text_suppressed(
	FILE *out, const struct hl_suppressions *s, const struct hl_text_opts *opts);
/* Only the lines, each prefixed by `of`. */
void hl_text_suppressed_lines(FILE *out, const struct hl_suppressions *s, const char *of,
	const struct hl_text_opts *opts);

#endif
