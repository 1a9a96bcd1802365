/*
 * text_internal.h - pieces that several views are made of.
 */
#ifndef HL_VIEWS_TEXT_TEXT_INTERNAL_H
#define HL_VIEWS_TEXT_TEXT_INTERNAL_H

#include "util/json.h"
#include "util/strbuf.h"
#include "util/terminal.h"
#include "views/text/text.h"

/*
 * The three columns that rows of trees and tables begin with, "100.0%  1023.9 KiB  1,234,567  ".
 * No row has more than the total, so its numbers tell how wide they must be.
 */
struct hl_numbers {
	struct hl_value total;
	int bytes_width, blocks_width;
	bool margin; /* they are estimates: each has its own */
	const struct hl_text_opts *opts;
};
struct hl_numbers hl_numbers_of(const struct hl_value *total, const struct hl_text_opts *opts);
void hl_put_numbers(FILE *out, const struct hl_numbers *n, const struct hl_value *v);
void hl_put_numbers_head(FILE *out, const struct hl_numbers *n);
void hl_put_no_numbers(FILE *out, const struct hl_numbers *n);
size_t hl_numbers_width(const struct hl_numbers *n);
/* Bytes or blocks, as the options say. */
uint64_t hl_measure(const struct hl_value *v, const struct hl_text_opts *opts);

/*
 * Which of n rows that keep their own order are shown: the opts->limit largest, of equal ones the
 * first, and none below `least`. The caller frees it; NULL, without memory: all.
 */
bool *hl_pick(const void *rows, size_t n,
	uint64_t (*size_of)(const void *rows, size_t i, const struct hl_text_opts *opts),
	uint64_t least, const struct hl_text_opts *opts);

/* The sequence that switches to the style, "" without colours. */
const char *hl_style(const struct hl_text_opts *opts, enum hl_style style);

double hl_percent(uint64_t part, uint64_t whole);
/*
 * What a row is about: "function  file.c:12" or "function  [module]" for a frame, else a text.
 * Where rows are cut, it is cut to what the page has left for it.
 */
struct hl_label {
	const struct hl_frame *frame; /* or NULL, and text */
	const char *text;
	bool full;      /* the function's whole name */
	size_t used;    /* how much of the row is not for it */
	size_t differs; /* by hl_tell_apart: where in the name; 0: it is not taken for another */
};
void hl_put_label(FILE *out, const struct hl_label *l, const struct hl_text_opts *opts);
/* Rows that would be cut to the same keep the place where they differ, if there is room for it. */
void hl_tell_apart(struct hl_label *labels, size_t n, const struct hl_text_opts *opts);
/* How many columns the first len bytes take. */
size_t hl_columns(const char *s, size_t len);
/* A line, or, where rows are cut, as many as it needs, all but the first indented. */
void hl_put_wrapped(FILE *out, const char *text, enum hl_style style, unsigned indent,
	const struct hl_text_opts *opts);
/* What is shown, of when, how much. */
void hl_put_head(
	FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_text_opts *opts);
void hl_put_hidden(FILE *out, const struct hl_value *total, const struct hl_value *v,
	uint64_t count, const char *one, const char *many, const struct hl_text_opts *opts);
/* "  and 3 threads more; -n 0 shows all"; nothing for 0. */
void hl_put_more(FILE *out, uint64_t count, const char *one, const char *many,
	const struct hl_text_opts *opts);
/* One character that is `part` of `whole` high, from 0 to 8 eighths. */
const char *hl_bar(unsigned eighths, bool unicode);

void hl_json_frame(struct hl_json *j, const struct hl_frame *f);
void hl_json_value(struct hl_json *j, const char *prefix, const struct hl_value *v);

#define HL_SUPPRESSED_HEAD "\nsuppressed (--no-default-suppressions shows what is built in):\n"

#endif
