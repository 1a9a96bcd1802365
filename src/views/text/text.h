/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - a trace as text for people and as JSON for programs.
 *
 * All functions write to a stream of the caller; I/O errors stay in the stream. Names are escaped:
 * they cannot send control sequences to a terminal or break a line. JSON has "schema": 1; member
 * names never change their meaning, new ones may be added (docs/json.md). Except for hl_json_info,
 * JSON functions write members into an object that the caller has begun. They omit nothing unless
 * an argument limits the output.
 */
#ifndef HL_VIEWS_TEXT_TEXT_H
#define HL_VIEWS_TEXT_TEXT_H

#include <stdio.h>

#include "model/views/filtered_peak.h"
#include "model/views/page_usage.h"
#include "model/views/freeing_sites.h"
#include "model/stack/flat_table.h"
#include "model/views/mappings.h"
#include "model/model.h"
#include "model/query/query.h"
#include "model/views/site_stats.h"
#include "model/query/suppress.h"
#include "model/views/thread_stats.h"
#include "model/stack/tree.h"
#include "util/json_writer.h"
#include "util/strbuf.h"

void hl_text_info(FILE *out, struct hl_model *m, bool color);
void hl_json_info(FILE *out, struct hl_model *m);

/* The HL_UNKNOWN_* bits of an imported trace, appended to b as "a; b", or as a JSON array of
 * words. */
void hl_text_import_limits(struct hl_strbuf *b, uint32_t unknown);
void hl_json_import_limits(struct hl_json *j, uint32_t unknown);

/* Appends one sentence about a trace that could not be written to its end. */
/* Where a trace that begins late begins: "begins at 12.5 s of the run; ...". */
void hl_text_base(struct hl_strbuf *b, const struct hl_base *base);
void hl_text_unwritten(struct hl_strbuf *b, const struct hl_unwritten *u);

struct hl_text_opts {
	const char *quantity_text; /* the quantity shown, for the header: "live at the peak" */
	double min_percent;        /* rows below this share of the total are omitted */
	bool limited;              /* show at most `limit` rows, or children of a tree node */
	size_t limit;
	bool keep_order; /* rows are not sorted by size: the limit keeps the largest ones */
	bool by_blocks;  /* shares, order and limits use blocks instead of bytes */
	bool unicode;    /* draw lines with box-drawing characters */
	bool color;
	size_t width; /* of the page, in characters */
	bool shorten; /* shorten names in rows that are wider than the page, and wrap other lines */
};

/* The minimum of bytes, or blocks, of a row that is shown, for this total. */
uint64_t hl_text_minimum(const struct hl_value *total, const struct hl_text_opts *opts);

/* Maximum depth of branches in a tree: the indentation of a deep recursion would grow with the
 * square of its depth. */
#define HL_TEXT_DEPTH_MAX 40

/* Prints a tree of frames in the order of its children. Returns 0 or -ENOMEM. */
int hl_text_tree(FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t,
	const struct hl_text_opts *opts);
/* Writes the `most` largest nodes and the number of omitted ones; 0: all nodes. */
int hl_json_tree(struct hl_json *j, struct hl_model *m, const struct hl_answer *a,
	const struct hl_tree *t, size_t most);

/* Writes quantity, times and total. */
void hl_json_answer(struct hl_json *j, const struct hl_answer *a);

/* One line per process, in the given order. */
struct hl_process_row {
	char *program; /* owned by the caller */
	uint64_t pid;
	const char *what; /* "live at the peak" */
	struct hl_value value;
	char *suppressed; /* lines about suppressed blocks, owned by the caller; NULL: none */
};
void hl_text_processes(FILE *out, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, const struct hl_text_opts *opts);

/* Flat tables. stats: for the first n_stats rows; or NULL. hl_text_table then needs them for all
 * rows that it shows. */
void hl_text_table(FILE *out, struct hl_model *m, const struct hl_answer *a,
	const struct hl_table *t, const struct hl_site_stat *stats,
	const struct hl_text_opts *opts);
void hl_json_table(struct hl_json *j, struct hl_model *m, const struct hl_answer *a,
	const struct hl_table *t, const struct hl_site_stat *stats, size_t n_stats);
/* The number of rows, from the first on, that hl_text_table needs stats for. */
size_t hl_text_table_rows(const struct hl_table *t, const struct hl_text_opts *opts);

void hl_text_threads(FILE *out, const struct hl_threads *t, const struct hl_text_opts *opts);
void hl_json_threads(struct hl_json *j, const struct hl_threads *t);

/* The number of columns of a plot on this page. */
size_t hl_text_timeline_columns(const struct hl_text_opts *opts);
int hl_text_timeline(FILE *out, struct hl_model *m, const struct hl_timeline_bin *c, size_t n,
	const struct hl_text_opts *opts);
int hl_json_timeline(struct hl_json *j, struct hl_model *m, const struct hl_timeline_bin *c,
	size_t n, const struct hl_peak *peak);

void hl_text_fragmentation(FILE *out, struct hl_model *m, const struct hl_fragmentation *f,
	const struct hl_text_opts *opts);
void hl_json_fragmentation(struct hl_json *j, struct hl_model *m, const struct hl_fragmentation *f);

void hl_text_freed_by(FILE *out, struct hl_model *m, const struct hl_freed_by *f,
	const struct hl_text_opts *opts);
void hl_json_freed_by(struct hl_json *j, struct hl_model *m, const struct hl_freed_by *f);

/* stacks: print all frames of each stack. Returns 0 or -errno with hl_model_error(). */
int hl_text_mmaps(FILE *out, struct hl_model *m, const struct hl_mapping_list *list, bool stacks,
	const struct hl_text_opts *opts);
/* Runs hl_model_mappings and writes each mapping as it comes. The callback of `x` must not be
 * set. */
int hl_json_mmaps(struct hl_json *j, struct hl_model *m, struct hl_mappings *x);

/* The frames of a stack, innermost first: one per line, prefixed by `before`; or as an array.
 * Returns 0 or -errno with hl_model_error(). */
int hl_text_stack(FILE *out, struct hl_model *m, uint32_t node, const char *before);
int hl_json_stack(struct hl_json *j, struct hl_model *m, uint32_t node);

/* Lists the modules whose names or lines are incomplete, and what would help. Prints nothing if
 * there are none. */
void hl_text_missing_names(FILE *out, struct hl_model *m, const struct hl_text_opts *opts);

/* Prints what the suppressions removed. Prints nothing if they removed nothing. */
void hl_text_suppressed(FILE *out, const struct hl_suppressions *s);
/* Only the lines, each prefixed by `of`. */
void hl_text_suppressed_lines(FILE *out, const struct hl_suppressions *s, const char *of);
void hl_json_suppressed(struct hl_json *j, const struct hl_suppressions *s);

#endif
