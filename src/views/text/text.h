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
#include "request/process_rows.h"
#include "util/strbuf.h"
#include "util/vec.h"

/* Appends where a trace that begins late begins: "begins at 12.5 s of the run; ...". */
void hl_text_base(struct hl_strbuf *b, const struct hl_base *base);
/* Appends one sentence about a trace that could not be written to its end. */
void hl_text_unwritten(struct hl_strbuf *b, const struct hl_unwritten *u);

/* The modules of the frames that were shown. The paths are those of the model. */
struct hl_shown_modules {
	HL_VEC(const char *) paths;
};

struct hl_text_opts {
	const char *quantity_text; /* the quantity shown, for the header: "live at the peak" */
	const char *filter_text;   /* the filter of the request, for the header; NULL: none */
	struct hl_limits limits;   /* the rows to show */
	struct hl_row_limit *rows; /* rows and bytes of the whole document; NULL: no limit */
	bool unicode;              /* draw lines with box-drawing characters */
	bool color;
	bool exact_bytes;               /* "12,345,678 B" instead of "12.4 MiB" */
	struct hl_shown_modules *shown; /* gets the modules of the frames; NULL: not needed */
	size_t width;                   /* of the page, in characters */
	/* For commands that are shown: how heaplapse is called, the trace's file, and options of
	 * the request that apply to them, too: " --filter ..."; NULL: not known, or none. */
	const char *command, *file, *options;
	/* Of the last line about an interpreter, see hl_text_interpreter(). NULL: no such line. */
	const char **language;
	bool shorten; /* shorten names in rows that are wider than the page, and wrap other lines */
};

/* The properties and totals of a trace. */
void hl_text_info(FILE *out, struct hl_model *m, const struct hl_text_opts *opts);

/* Renders any result, and what its suppressions removed. Returns 0, or -errno with
 * hl_model_error(). */
int hl_text_result(FILE *out, struct hl_result *r, const struct hl_text_opts *style);

struct hl_overview;
/* The most important numbers of an overview as lines of a name, a value and a detail, without
 * rows. */
void hl_text_headline(FILE *out, struct hl_model *m, const struct hl_overview *o,
	const struct hl_text_opts *opts);
/* The same for the end of a recording, with the two largest rows of the lists that matter most. */
void hl_text_overview_short(FILE *out, struct hl_model *m, const struct hl_overview *o,
	const struct hl_text_opts *opts);

/* The number of columns of a plot on this page. */
size_t hl_text_timeline_columns(const struct hl_text_opts *opts);

/* One line per process, the largest first, with its share of the total. */
void hl_text_processes(FILE *out, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, const struct hl_text_opts *opts);

/* The frames of a stack, innermost first, one per line, prefixed by `before`. Returns 0 or -errno
 * with hl_model_error(). */
int hl_text_stack(FILE *out, struct hl_model *m, uint32_t node, const char *before);

/*
 * Lists the modules whose names or lines are incomplete, and what would help: the first few of
 * those in opts->shown, or all that were looked at. Prints nothing if there are none.
 */
void hl_text_missing_names(
	FILE *out, struct hl_model *m, bool all, const struct hl_text_opts *opts);

/* Prints one line about a program that a language runtime interprets, and nothing for others.
 * *language is the one that the last line was about, NULL at first: several traces get one line.
 * Returns 0 or -errno with hl_model_error(). */
int hl_text_interpreter(
	FILE *out, struct hl_model *m, const char **language, const struct hl_text_opts *opts);

/* Prints which functions were treated as allocation wrappers, with --no-wrappers, which switches
 * that off. Prints nothing if there are none. */
void hl_text_wrappers(FILE *out, struct hl_model *m, const struct hl_text_opts *opts);

/* Prints what the suppressions removed. Prints nothing if they removed nothing. */
void hl_text_suppressed(
	FILE *out, const struct hl_suppressions *s, const struct hl_text_opts *opts);
/* Only the lines, each prefixed by `of`. */
void hl_text_suppressed_lines(FILE *out, const struct hl_suppressions *s, const char *of,
	const struct hl_text_opts *opts);

#endif
