/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_internal.h - functions that several views share.
 */
#ifndef HL_VIEWS_TEXT_TEXT_INTERNAL_H
#define HL_VIEWS_TEXT_TEXT_INTERNAL_H

#include "request/result.h"
#include "util/safe_text.h"
#include "util/strbuf.h"
#include "util/terminal/terminal.h"
#include "views/text/text.h"

/*
 * The first three columns of rows of trees and tables, "100.0%  1023.9 KiB  1,234,567  ". No row
 * exceeds the total, so the total determines the width of the columns.
 */
struct hl_row_values {
	struct hl_value total;
	int bytes_width, blocks_width;
	bool margin; /* values are estimates, and each has a margin */
	const struct hl_text_opts *opts;
};
struct hl_row_values hl_row_values_make(
	const struct hl_value *total, const struct hl_text_opts *opts);
void hl_put_values(FILE *out, const struct hl_row_values *n, const struct hl_value *v);
void hl_put_values_header(FILE *out, const struct hl_row_values *n);
void hl_put_blank_values(FILE *out, const struct hl_row_values *n);
size_t hl_row_values_width(const struct hl_row_values *n);
/* "12.4 MiB" or, with opts->exact_bytes, "12,345,678 B", in a buffer of HL_TEXT_SIZE_MAX. */
static inline char *hl_text_size(char *buf, uint64_t bytes, const struct hl_text_opts *opts)
{
	return opts->exact_bytes ? hl_text_bytes_exact(buf, bytes) : hl_text_bytes(buf, bytes);
}

/* The escape sequence of the style, "" without color. */
const char *hl_text_style(const struct hl_text_opts *opts, enum hl_style style);

double hl_percent(uint64_t part, uint64_t whole);
/*
 * The label of a row: "function  file.c:12" or "function  [module]" for a frame, else a text. With
 * opts->shorten it is shortened to the rest of the line, so that the function's own name stays as
 * long as possible (util/code_name).
 */
struct hl_label {
	const struct hl_frame *frame; /* NULL: the label is `text` */
	const char *text;
	bool function;           /* `text` is the name of a function */
	bool full_name;          /* use the function's full name */
	size_t reserved_columns; /* columns of the row that are not available for the label */
	size_t difference_at;    /* by hl_disambiguate: offset of the difference; 0: none;
				    HL_LABEL_SAME_NAME: in the location */
};
#define HL_LABEL_SAME_NAME SIZE_MAX
void hl_put_label(FILE *out, const struct hl_label *l, const struct hl_text_opts *opts);
/* Adds the module of a frame, or the modules of a stack, to opts->shown. hl_put_label does it for
 * its frame. If memory is short, they are left out. */
void hl_note_shown_frame(const struct hl_frame *f, const struct hl_text_opts *opts);
void hl_note_shown_stack(struct hl_model *m, uint32_t node, const struct hl_text_opts *opts);
/* Sets `difference_at` of labels that would be shortened to the same text. Such a label keeps the
 * part where it differs, if there is room. */
void hl_disambiguate(struct hl_label *labels, size_t n, const struct hl_text_opts *opts);
/* The time at which an answer begins. That of a base is rounded up, as everywhere: the text can be
 * asked for. */
char *hl_text_begin(char *buf, const struct hl_model *m, uint64_t ns);
/* The display columns of the first len bytes. */
size_t hl_display_columns(const char *s, size_t len);
/* Prints a line. With opts->shorten it is wrapped; all lines but the first are indented. */
void hl_put_wrapped(FILE *out, const char *text, enum hl_style style, unsigned indent,
	const struct hl_text_opts *opts);
/* Prints the first line of a view and, below it, the filter of the request. */
void hl_put_title(FILE *out, const char *text, const struct hl_text_opts *opts);
/* Prints the line of the filter; nothing without one. */
void hl_put_filter(FILE *out, const struct hl_text_opts *opts);
/* Prints quantity, times and total. */
void hl_put_header(
	FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_text_opts *opts);
void hl_put_hidden(FILE *out, const struct hl_value *total, const struct hl_value *v,
	uint64_t count, const char *one, const char *many, const struct hl_text_opts *opts);
/* Prints "  and 3 threads more; -n 0 shows all"; nothing for 0. */
void hl_put_omitted_count(FILE *out, uint64_t count, const char *one, const char *many,
	const struct hl_text_opts *opts);
/* Prints which rows the budget left out. Prints nothing if there are none. */
void hl_put_truncated(FILE *out, const struct hl_text_opts *opts);
/* One character of a bar chart, 0 to 8 eighths high. */
const char *hl_bar(unsigned eighths, bool unicode);

/* The index of the column with the most live bytes. */
size_t hl_timeline_highest(const struct hl_timeline_bin *c, size_t n);

/* Values over time, each column relative to the maximum of all. A column that covers several points
 * shows their maximum, and ? if all are before `first`, the first known one; `columns` divides n.
 */
void hl_put_spark(FILE *out, const uint64_t *values, unsigned n, unsigned first, unsigned columns,
	bool unicode);

/* A tree and a table, for views that have several. */
int hl_text_put_table(FILE *out, struct hl_model *m, const struct hl_table_result *x,
	const struct hl_text_opts *opts);
int hl_text_put_tree(FILE *out, struct hl_model *m, const struct hl_tree_result *x,
	const struct hl_text_opts *opts);

/* The renderers of results; opts has the limits and the heading of the result. */
#define X(name, renderer, ...) \
	int hl_text_##renderer(FILE *out, struct hl_result *r, const struct hl_text_opts *opts);
HL_VIEWS(X)
#undef X

#define HL_SUPPRESSED_HEADER "\nsuppressed (--no-default-suppressions shows what is built in):\n"

/* A line for packages that apt finds only if the debug archive is configured. */
#define HL_TEXT_DEBUG_ARCHIVE \
	"-dbgsym packages are in Debian's debug archive; see: heaplapse help report"
/* Does hl_model_advice() name such a package? */
bool hl_text_needs_debug_archive(const char *advice);

#endif
