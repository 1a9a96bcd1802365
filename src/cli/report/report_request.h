/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_request.h - the parsed request of `report`: the interface between its options and its
 * views.
 */
#ifndef HL_CLI_REPORT_REPORT_REQUEST_H
#define HL_CLI_REPORT_REPORT_REQUEST_H

#include "cli/options/symbol_options.h"
#include "cli/files/trace_file.h"
#include "model/query/suppress.h"
#include "util/json_writer.h"
#include "util/strbuf.h"
#include "util/vec.h"
#include "views/json/json.h"
#include "views/text/text.h"

enum hl_report_what {
	HL_REPORT_NOTHING, /* no quantity was given */
	HL_REPORT_PEAK,
	HL_REPORT_LEAKS,
	HL_REPORT_ALLOCATED,
	HL_REPORT_TEMPORARY,
	HL_REPORT_GROWTH,
	HL_REPORT_AT,
};

enum hl_report_view {
	HL_REPORT_TREE,
	HL_REPORT_TABLE,
	HL_REPORT_ALL_BY, /* the same, but of all allocations if no quantity was given */
	HL_REPORT_SITES,
	HL_REPORT_THREADS,
	HL_REPORT_TIMELINE,
	HL_REPORT_FRAGMENTATION,
	HL_REPORT_SNAPSHOTS,
	HL_REPORT_DELTAS,
	HL_REPORT_CUMULATIVE,
	HL_REPORT_PROCESSES,
	HL_REPORT_FREED_BY,
	HL_REPORT_MMAPS,
};

typedef HL_VEC(const char *) hl_report_names;

/* One requested view. */
struct hl_report_part {
	enum hl_report_view view;
	enum hl_group group;
	const char *option; /* the option, "--sites", and its value, for messages */
	const char *value;
};

/* A choice among options that exclude each other. */
struct hl_report_exclusive_option {
	const char *option, *value;      /* the first one given; NULL: none */
	const char *other, *other_value; /* another one that contradicts it; NULL: none */
};

struct hl_report_result;

struct hl_report {
	struct hl_trace_opts common; /* must be the first two members */
	struct hl_symbol_options symbols;
	struct hl_report_exclusive_option quantity_option, range;
	HL_VEC(struct hl_report_part) parts; /* empty: the tree */
	enum hl_report_what what;            /* of the current part, as the next two */
	enum hl_report_view view;
	enum hl_group group;
	struct hl_time_spec at, from, to;
	struct hl_time_spec peak; /* of the current trace: the position of --peak */
	bool ranged;              /* --range or --growth was given */
	uint64_t temporary_ns;
	bool top_down, full_stacks, sorted, min_given, limit_given, no_defaults;
	enum hl_sort sort;
	double min;
	size_t limit;
	hl_report_names filter_exprs, suppression_files;
	hl_report_names include_function, exclude_function, include_module, exclude_module;

	const char *pool_name;   /* --pool; NULL: the heap */
	struct hl_pattern *pool; /* the compiled pattern of pool_name */
	char heading[256];
	struct hl_filter *filter;             /* NULL: all blocks */
	struct hl_suppressions *suppressions; /* of the current trace; NULL: none */
	HL_VEC(char *) suppression_texts;     /* contents of the files */
	struct hl_report_result *sites;       /* the list of sites, if built before its turn */
	struct hl_json json;
	size_t max_nodes;      /* limit for each tree in JSON; 0: none */
	struct hl_value total; /* sum over all traces */
	bool several_traces;   /* there are several traces */
	bool no_order;         /* the trace is a profile, which has no peak */
	bool before_damage;    /* the result for this trace differs from the requested time or is
				  partial */
	HL_VEC(struct hl_process_row) processes; /* rows of --group process as text */
};
HL_SYMBOL_STATE_CHECK(struct hl_report);

/*
 * The quantity and the selection of blocks. These options are shared by all commands that query the
 * model; their state must begin with struct hl_report. hl_request_check returns 0, or prints a
 * message and returns an exit status.
 */
const char *hl_request_peak(void *state, const char *value);
const char *hl_request_leaks(void *state, const char *value);
const char *hl_request_at(void *state, const char *value);
const char *hl_request_allocated(void *state, const char *value);
const char *hl_request_temporary(void *state, const char *value);
const char *hl_request_growth(void *state, const char *value);
const char *hl_request_range(void *state, const char *value);
const char *hl_request_filter(void *state, const char *value);
const char *hl_request_pool(void *state, const char *value);
const char *hl_request_include_function(void *state, const char *value);
const char *hl_request_exclude_function(void *state, const char *value);
const char *hl_request_include_module(void *state, const char *value);
const char *hl_request_exclude_module(void *state, const char *value);
const char *hl_request_suppressions(void *state, const char *value);
const char *hl_request_no_defaults(void *state, const char *value);
int hl_request_check(struct hl_report *r);
/* The same for the group of a table. */
int hl_request_check_group(const struct hl_report *r, enum hl_group group);
void hl_request_fini(void *state);
/* clang-format off */
#define HL_REQUEST_OPTS(peak_help) \
	{0, "peak", NULL, peak_help, hl_request_peak}, \
	{0, "leaks", NULL, "memory live at the end", hl_request_leaks}, \
	{0, "at", "TIME", "memory live at TIME (12.5s, 50%, @peak, @end, @mark:NAME)", hl_request_at}, \
	{0, "allocated", NULL, "all allocations, freed or not", hl_request_allocated}, \
	{0, "temporary", "[DURATION]", "blocks freed by the very next event, or within DURATION", \
		hl_request_temporary}, \
	{0, "growth", "A..B", "blocks allocated between A and B and live at B", hl_request_growth}, \
	{0, "range", "A..B", "with --allocated or --temporary: only from A to B", hl_request_range}
#define HL_FILTER_OPTS \
	{0, "filter", "EXPR", "only blocks that match EXPR (see below); repeat to AND", hl_request_filter}, \
	{0, "pool", "NAME", "show blocks of the program's own pools of this name, not of the heap", \
		hl_request_pool}, \
	{'i', "include-function", "NAME", "only stacks with this function; repeat to OR", \
		hl_request_include_function}, \
	{'x', "exclude-function", "NAME", "no stacks with this function", \
		hl_request_exclude_function}, \
	{0, "include-module", "NAME", "only stacks with a frame in this module", \
		hl_request_include_module}, \
	{0, "exclude-module", "NAME", "no stacks with a frame in this module", \
		hl_request_exclude_module}, \
	{0, "suppressions", "FILE", \
		"hide leaks that match leak:PATTERN lines of FILE, as in LSan; may be repeated", \
		hl_request_suppressions}, \
	{0, "no-default-suppressions", NULL, "also show memory that libc and other runtimes keep to the end", \
		hl_request_no_defaults}
#define HL_FILTER_ABOUT \
	"EXPR is a list of terms that must all match; a comma means OR, a leading - means NOT:\n" \
	"  fn:parse*  -file:/usr/include/*  module:libfoo.so  size:>=4K  thread:0,1\n" \
	"  call:realloc  time:1s..2s  life:<1ms  alive:end  addr:0x7f1200001000\n" \
	"  tag:render/*  thread:decoder  -tag:* (in no scope)\n" \
	"  chain-length:>=3  chain-position:1  chain-first:<1K  chain-last:>=1M\n" \
	"  chain-life:>1s  chain-alive:end (of a realloc chain)\n" \
	"  NAME is part of a name, a glob or /a regular expression/; a single word is\n" \
	"  part of a function's name. fn: also matches the called function (malloc).\n" \
	"  Quote values with spaces or commas: fn:\"operator new\",\n" \
	"  time:@mark:\"a..b\"..\n"
#define HL_REQUEST_ABOUT HL_FILTER_ABOUT "  Terms apply to the allocation of a block.\n"
/* clang-format on */
/* hl_report_query returns the query, once the filter and the suppressions are built.
 * hl_report_heading returns its heading. hl_report_has_times checks whether the trace has the
 * requested times; if not, it returns false and a sentence. */
struct hl_query hl_report_query(const struct hl_report *r);
const char *hl_report_heading(struct hl_report *r, struct hl_model *m);
/* Returns whether the report is about the peak of the blocks that match the filter, not the peak of
 * the heap. For blocks of pools it is always the peak of the heap. */
bool hl_report_has_own_peak(const struct hl_report *r);
/* Finds the peak that the request is about, and prints a warning if it may not be the peak of the
 * whole run. Returns 0, or -errno with hl_model_error(). */
int hl_report_find_peak(struct hl_report *r, struct hl_model *m);
bool hl_report_has_times(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why);
/* Warns about missing parts of the trace. */
void hl_report_warn(struct hl_model *m);
/* Warns if an answer is for another time than requested. */
void hl_report_warn_moved(struct hl_report *r, struct hl_model *m, const struct hl_query *q,
	uint64_t got_ns, bool moved);

/* Build r->filter from the options and, for leaks, r->suppressions. Return 0, or print a message
 * and return an exit status. */
int hl_report_make_filter(struct hl_report *r);
/* Called once, because a file may be a pipe. */
int hl_report_read_suppressions(struct hl_report *r);
int hl_report_make_suppressions(struct hl_report *r);

/* Reports on the operands: none, one or several traces. Returns an exit status. */
int hl_report_traces(struct hl_report *r, int n, char **files);

/*
 * Prints all parts for one trace. In JSON they are members of the object that is open. Returns 0,
 * or -errno with hl_model_error().
 */
int hl_report_show(struct hl_report *r, struct hl_model *m);

/* With a filter there are two peaks. In JSON, puts which of them an answer is about. */
void hl_report_put_peak_of(struct hl_report *r);
/* Makes part i the current part. */
void hl_report_select_part(struct hl_report *r, size_t i, enum hl_report_what asked);
/* Prints one warning about all data that the parts lack. */
void hl_report_warn_unknown(struct hl_report *r, struct hl_model *m);
/* --snapshots, --snapshot-deltas and --cumulative-delta. */
int hl_report_snapshots(struct hl_report *r, struct hl_model *m);
/* --freed-by and --mmaps. */
int hl_report_freed_by(struct hl_report *r, struct hl_model *m);
int hl_report_mmaps(struct hl_report *r, struct hl_model *m);
/* Runs the query, prints warnings about the answer and adds it to the total. */
int hl_report_run_query(
	struct hl_report *r, struct hl_model *m, const struct hl_query *q, struct hl_answer *a);
int hl_report_tree(
	struct hl_report *r, struct hl_model *m, const struct hl_answer *a, const char *what);
size_t hl_report_page_width(void);
/* Returns whether the output contains names, so that missing symbols matter. */
bool hl_report_needs_names(const struct hl_report *r);
/* `export`: prints which modules have no symbols, if they are a relevant part. */
void hl_export_print_missing_symbols(struct hl_model *m);
/* Returns the text options for --threads and --group process. */
struct hl_text_opts hl_report_list_opts(const struct hl_report *r);
/* Adds a row of --group process, as text; `what` must be static. Returns 0 or -ENOMEM. */
int hl_report_add_process(
	struct hl_report *r, struct hl_model *m, const char *what, const struct hl_value *v);

/* Closes the model and returns an exit status. missing: data that is missing, for --strict; NULL:
 * none. */
int hl_report_finish(
	struct hl_report *r, struct hl_model *m, int status, int err, const char *missing);

#endif
