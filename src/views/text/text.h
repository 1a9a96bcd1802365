/*
 * text.h - a trace as text for people and as JSON for programs.
 *
 * All of it goes to a stream of the caller; its errors stay in the stream. Names are escaped:
 * none can act on a terminal or break a line. JSON has "schema": 1; names in it never change
 * their meaning, new ones may be added: docs/json.md. But for info, JSON functions write members
 * into an object that the caller has begun, and leave nothing out unless they are told to.
 */
#ifndef HL_VIEWS_TEXT_TEXT_H
#define HL_VIEWS_TEXT_TEXT_H

#include <stdio.h>

#include "model/curve.h"
#include "model/fragmentation.h"
#include "model/freed_by.h"
#include "model/group.h"
#include "model/mmaps.h"
#include "model/model.h"
#include "model/query.h"
#include "model/sites.h"
#include "model/suppress.h"
#include "model/threads.h"
#include "model/tree.h"
#include "util/json.h"
#include "util/strbuf.h"

void hl_text_info(FILE *out, struct hl_model *m, bool color);
void hl_json_info(FILE *out, struct hl_model *m);

/* HL_UNKNOWN_* of an imported trace: onto b, "a; b"; as an array of words. */
void hl_text_unknown(struct hl_strbuf *b, uint32_t unknown);
void hl_json_unknown(struct hl_json *j, uint32_t unknown);

/* One sentence about a trace that could not be written to its end. */
void hl_text_unwritten(struct hl_strbuf *b, const struct hl_unwritten *u);

struct hl_text_opts {
	const char *what;   /* what is shown, for the head: "live at the peak" */
	double min_percent; /* what is below this share of the total is left out */
	bool limited;       /* no more than `limit` rows, or branches of a branch */
	size_t limit;
	bool own_order; /* rows are not in the order of size: the limit keeps the largest */
	bool by_blocks; /* shares, order and what is left out go by blocks, not by bytes */
	bool unicode;   /* lines as box-drawing characters */
	bool color;
	size_t width; /* of the page, in characters */
	bool cut; /* rows that are wider lose the middle of a name, and other lines are wrapped */
};

/* The fewest bytes, or blocks, that are not left out of such a total. */
uint64_t hl_text_least(const struct hl_value *total, const struct hl_text_opts *opts);

/* How deep a tree's branches are shown: a recursion's indents would grow with its square. */
#define HL_TEXT_DEPTH_MAX 40

/* A tree of frames, in the order it was built. 0 or -ENOMEM. */
int hl_text_tree(FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t,
	const struct hl_text_opts *opts);
/* No more than the `most` largest nodes, and how many are left out; 0: all. */
int hl_json_tree(struct hl_json *j, struct hl_model *m, const struct hl_answer *a,
	const struct hl_tree *t, size_t most);

/* What is asked, of when, how much in all. */
void hl_json_answer(struct hl_json *j, const struct hl_answer *a);

/* One line for each process, in the order they are given. */
struct hl_process_row {
	char *program; /* the caller's */
	uint64_t pid;
	const char *what; /* "live at the peak" */
	struct hl_value value;
	char *suppressed; /* lines about what was left out, the caller's; NULL: none */
};
void hl_text_processes(FILE *out, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, const struct hl_text_opts *opts);

/* Flat tables. stats: of the first n_stats rows, which are then all that is shown; or NULL. */
void hl_text_table(FILE *out, struct hl_model *m, const struct hl_answer *a,
	const struct hl_table *t, const struct hl_site_stat *stats,
	const struct hl_text_opts *opts);
void hl_json_table(struct hl_json *j, struct hl_model *m, const struct hl_answer *a,
	const struct hl_table *t, const struct hl_site_stat *stats, size_t n_stats);
/* How many rows hl_text_table shows. */
size_t hl_text_table_rows(const struct hl_table *t, const struct hl_text_opts *opts);

void hl_text_threads(FILE *out, const struct hl_threads *t, const struct hl_text_opts *opts);
void hl_json_threads(struct hl_json *j, const struct hl_threads *t);

/* How many columns a plot of this page has. */
size_t hl_text_timeline_columns(const struct hl_text_opts *opts);
int hl_text_timeline(FILE *out, struct hl_model *m, const struct hl_column *c, size_t n,
	const struct hl_text_opts *opts);
int hl_json_timeline(struct hl_json *j, struct hl_model *m, const struct hl_column *c, size_t n,
	const struct hl_peak *peak);

void hl_text_fragmentation(FILE *out, struct hl_model *m, const struct hl_fragmentation *f,
	const struct hl_text_opts *opts);
void hl_json_fragmentation(struct hl_json *j, struct hl_model *m, const struct hl_fragmentation *f);

void hl_text_freed_by(FILE *out, struct hl_model *m, const struct hl_freed_by *f,
	const struct hl_text_opts *opts);
void hl_json_freed_by(struct hl_json *j, struct hl_model *m, const struct hl_freed_by *f);

/* stacks: each with all of its frames. 0 or -errno with hl_model_error(). */
int hl_text_mmaps(FILE *out, struct hl_model *m, const struct hl_mmap_list *list, bool stacks,
	const struct hl_text_opts *opts);
/* Asks the model itself, and writes each mapping as it comes: `x` is without functions. */
int hl_json_mmaps(struct hl_json *j, struct hl_model *m, struct hl_mmaps *x);

/* The frames of a stack, innermost first: one on each line, behind `before`; as an array. 0 or
 * -errno with hl_model_error(). */
int hl_text_stack(FILE *out, struct hl_model *m, uint32_t node, const char *before);
int hl_json_stack(struct hl_json *j, struct hl_model *m, uint32_t node);

/* The modules that could not tell everything, with what would help; nothing if there are none. */
void hl_text_notes(FILE *out, struct hl_model *m, const struct hl_text_opts *opts);

/* What was left out because it is known; nothing if nothing was. */
void hl_text_suppressed(FILE *out, const struct hl_suppressions *s);
/* Only the lines, each beginning with what it is of. */
void hl_text_suppressed_lines(FILE *out, const struct hl_suppressions *s, const char *of);
void hl_json_suppressed(struct hl_json *j, const struct hl_suppressions *s);

#endif
