/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - a request as data: a quantity, a range of time, a filter, views and limits.
 *
 * A request is filled from key/value pairs by the rows of request_rows.c. The command line and a
 * URL use the same rows. hl_request_finish checks it; from then on it does not change, and any
 * number of plans (plan.h), one for each trace, may use it at the same time.
 */
#ifndef HL_REQUEST_REQUEST_H
#define HL_REQUEST_REQUEST_H

#include "model/query/filter.h"
#include "model/query/pattern.h"
#include "model/query/time_spec.h"
#include "model/views/resident.h"
#include "model/blocks/block_list.h"
#include "model/stack/flat_table.h"
#include "model/stack/stack_rules.h"
#include "request/budget.h"
#include "request/limits.h"
#include "request/view.h"
#include "request/option_row.h"
#include "util/strbuf.h"
#include "util/vec.h"

enum hl_request_quantity {
	HL_REQUEST_DEFAULT, /* no quantity was given: the peak, unless the view has another */
	HL_REQUEST_PEAK,
	HL_REQUEST_LEAKS,
	HL_REQUEST_ALLOCATED,
	HL_REQUEST_TEMPORARY,
	HL_REQUEST_GROWTH,
	HL_REQUEST_AT,
};

typedef HL_VEC(const char *) hl_request_texts;

/* One requested view. */
struct hl_request_part {
	const struct hl_view *view;
	enum hl_group group;
	bool grouped;               /* snapshots: a table by the group instead of a tree; curves */
	const char *option, *value; /* the key, as an option, and its value, for messages */
};

/* A choice among options that exclude each other. */
struct hl_request_choice {
	const char *option, *value;      /* the first one given; NULL: none */
	const char *other, *other_value; /* another one that contradicts it; NULL: none */
};

/* A remark about the request or its answer. The text is valid during the call. */
enum hl_note_kind { HL_NOTE_WARNING, HL_NOTE_INFO };
struct hl_notes {
	void (*put)(void *arg, enum hl_note_kind kind, const char *text);
	void *arg;
};
void hl_notes_put(const struct hl_notes *n, enum hl_note_kind kind, const char *fmt, ...)
	hl_printf(3, 4);

/* Strings are the caller's and must stay valid. A zeroed struct is an empty request. */
struct hl_request {
	enum hl_request_quantity quantity;
	struct hl_request_choice quantity_option, range_option;
	struct hl_time_spec at, from, to;
	bool ranged; /* from and to were given */
	uint64_t temporary_ns;
	hl_request_texts filters;
	hl_request_texts include_function, exclude_function, include_module, exclude_module;
	const char *pool_name;         /* NULL: the heap */
	struct hl_pattern *pool;       /* the compiled pattern of pool_name */
	bool suppressions_given;       /* there will be texts in suppressions */
	hl_request_texts suppressions; /* rules for leaks, each text checked by the caller */
	bool no_default_suppressions;
	HL_VEC(struct hl_request_part) parts; /* empty: a tree, or an overview, see below */
	bool top_down, full_stacks, no_wrappers, sorted, min_given, limit_given;
	hl_request_texts folds, alloc_functions; /* see stack_rules.h */
	const char *from_function; /* of a tree: see hl_tree_opts.from; NULL: whole stacks */
	enum hl_sort sort;
	const char *sort_value; /* as it was given */
	/* Of a list of single blocks. */
	bool reverse;
	const char *after; /* the cursor of the page before; NULL: none */
	size_t offset;
	struct hl_block_page block_page; /* by finish, without the defaults of the view */
	double min;
	size_t limit;
	bool unlimited; /* for programs: min and limit do not apply */
	bool one_view;  /* the output can contain only one view */
	/* Without a quantity, a view or a limit, the overview is shown and not the tree of the
	 * peak: for people. */
	bool overview;
	struct hl_mapping_choice mapping; /* of --resident; zeroed: all */
	struct {
		const char *file; /* NULL: the view is not requested */
		size_t file_len;
		uint32_t line; /* 0: none */
		bool whole;
	} source;
	size_t columns; /* of a timeline; 0: HL_REQUEST_COLUMNS */
	struct hl_budget budget;

	bool needs_times; /* by finish: a trace may lack the times of the request */
};

/* Enough columns for a program to draw a plot of any size. */
#define HL_REQUEST_COLUMNS 200

/* Requests the view of a source file: "FILE" or "FILE:LINE". Returns NULL, or what is expected. */
const char *hl_request_set_source(void *state, const char *value);
/* Of the view of resident memory: a pattern of names, or an address. */
const char *hl_request_set_mapping(void *state, const char *value);
const char *hl_request_set_whole_file(void *state, const char *value);
/* The row of the default quantity; `more` ends its help. */
const char *hl_request_set_peak(void *state, const char *value);
/* clang-format off */
#define HL_REQUEST_PEAK_ROW(more) \
	{0, "peak", NULL, \
		"memory live at the peak; with a filter, at the peak of the matching blocks " more, \
		hl_request_set_peak}
/* clang-format on */

/* Rows by subject; hl_request_tables has all of them, in the order of the help. */
extern const struct hl_opt hl_request_peak_rows[], hl_request_quantity_rows[],
	hl_request_stack_rows[], hl_request_view_rows[], hl_request_filter_rows[],
	hl_request_suppression_rows[], hl_request_limit_rows[], hl_request_block_rows[],
	hl_request_budget_rows[];
extern const struct hl_opt *const hl_request_tables[];
/* The syntax of filters, for help texts. */
/* clang-format off */
#define HL_FILTER_ABOUT \
	"EXPR is a list of terms that must all match; a comma means OR, a leading - means NOT:\n" \
	"  fn:parse*  -file:/usr/include/*  module:libfoo.so  size:>=4K  thread:0,1\n" \
	"  call:realloc  time:1s..2s  life:<1ms  alive:end  addr:0x7f1200001000\n" \
	"  tag:render/*  thread:decoder  -tag:* (in no scope)\n" \
	"  chain-length:>=3  chain-position:1  chain-first:<1K  chain-last:>=1M\n" \
	"  chain-life:>1s  chain-alive:end (of a realloc chain)\n" \
	"  depth:>=20 (frames)  stack:1234  freed-fn:f  freed-file:f.c  freed-module:m\n" \
	"  freed-stack:99  freed-thread:2\n" \
	"  group-allocated:>=100  group-leaked:100%  group-interval:>10s\n" \
	"  group-peak:1s..2s (of all blocks of the run with the same stack)\n" \
	"  NAME is part of a name, a glob or /a regular expression/; a single word is\n" \
	"  part of a function's name. fn: also matches the called function (malloc).\n" \
	"  Quote values with spaces or commas: fn:\"operator new\",\n" \
	"  time:@mark:\"a..b\"..\n"
#define HL_REQUEST_ABOUT HL_FILTER_ABOUT "  Terms apply to the allocation of a block.\n"
/* clang-format on */

/* Why a request is refused. expr: the filter that is wrong, and the offset of the error; NULL: the
 * error is elsewhere. */
struct hl_request_error {
	char text[512];
	const char *expr;
	size_t at;
	const char *option; /* of expr; NULL: --filter */
};

/* Stores one key/value pair; value may be NULL. Returns 0, or -EINVAL and why. */
int hl_request_set(
	struct hl_request *r, const char *key, const char *value, struct hl_request_error *why);
/* Adds a view; equal views are added once. Returns NULL, or a description of the problem. */
const char *hl_request_add_view(struct hl_request *r, struct hl_request_part part);

/*
 * Completes and checks the request: combinations and filters. Returns 0, or -errno
 * and why; -EINVAL: the request makes no sense.
 */
int hl_request_finish(
	struct hl_request *r, const struct hl_notes *notes, struct hl_request_error *why);
/* The parts of hl_request_finish that do not concern views, for commands without them. */
int hl_request_finish_query(struct hl_request *r, struct hl_request_error *why);
int hl_request_finish_filter(struct hl_request *r, struct hl_request_error *why);
/* A table by this group can be requested. */
int hl_request_check_group(
	const struct hl_request *r, enum hl_group group, struct hl_request_error *why);
/* Makes the filter of the request: NULL if it has none. The caller frees it. Returns as finish().
 */
int hl_request_make_filter(
	const struct hl_request *r, struct hl_filter **out, struct hl_request_error *why);
/* Appends the whole filter as one expression, as --filter takes it; nothing if there is none. */
void hl_request_describe_filter(const struct hl_request *r, struct hl_strbuf *b);

/* Appends the options, each after a space, that another command needs to be about the same blocks
 * and to show the same sites: " --filter 'size:>=4K'". */
void hl_request_put_options(const struct hl_request *r, struct hl_strbuf *b);

/* The compiled rules about stacks of a request. */
struct hl_request_rules {
	struct hl_stack_rules rules;
	HL_VEC(struct hl_filter *) folds;
	HL_VEC(struct hl_pattern *) wrappers;
	HL_VEC(struct hl_code_address) addresses;
	bool any; /* they differ from no rules */
};
/* Makes the rules; the caller frees them with hl_request_rules_fini, also after an error. Returns
 * as finish(). */
int hl_request_make_rules(
	const struct hl_request *r, struct hl_request_rules *x, struct hl_request_error *why);
void hl_request_rules_fini(struct hl_request_rules *x);
void hl_request_fini(struct hl_request *r);

#endif
