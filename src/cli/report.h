/*
 * report.h - what `report` was asked for, between its options and what it shows.
 */
#ifndef HL_CLI_REPORT_H
#define HL_CLI_REPORT_H

#include "cli/symbol_options.h"
#include "cli/trace_file.h"
#include "model/suppress.h"
#include "util/json.h"
#include "util/strbuf.h"
#include "util/vec.h"
#include "views/text/text.h"

enum hl_report_what {
	HL_REPORT_NOTHING, /* nothing was said */
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
	HL_REPORT_ALL_BY, /* the same, of everything if nothing else is asked for */
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

/* One view that was asked for. */
struct hl_report_part {
	enum hl_report_view view;
	enum hl_group group;
	const char *option; /* as it was asked for, "--sites", and with what */
	const char *value;
};

/* Of several options only one can hold. */
struct hl_report_choice {
	const char *option, *value;      /* the first that was given; NULL: none */
	const char *other, *other_value; /* one that contradicts it; NULL: none */
};

struct hl_report_made;

struct hl_report {
	struct hl_trace_opts common; /* these two first */
	struct hl_symbol_options symbols;
	struct hl_report_choice quantity, range;
	HL_VEC(struct hl_report_part) parts; /* none: the tree */
	enum hl_report_what what; /* of the part that is being shown, as the two that follow */
	enum hl_report_view view;
	enum hl_group group;
	struct hl_when at, from, to;
	struct hl_when peak; /* of the trace that is shown: where --peak is */
	bool ranged; /* --range or --growth was given */
	uint64_t temporary_ns;
	bool top_down, full_stacks, sorted, min_given, limit_given, no_defaults;
	enum hl_sort sort;
	double min;
	size_t limit;
	hl_report_names filter_exprs, suppression_files;
	hl_report_names include_function, exclude_function, include_module, exclude_module;

	const char *pool_name;   /* --pool; NULL: the heap */
	struct hl_pattern *pool; /* the same */
	char heading[256];
	struct hl_filter *filter;             /* NULL: all */
	struct hl_suppressions *suppressions; /* of the trace that is shown; NULL: none */
	HL_VEC(char *) suppression_texts;     /* of the files */
	struct hl_report_made *sites; /* the list of sites, where it was made before its turn */
	struct hl_json json;
	size_t most_nodes;     /* of each tree as JSON; 0: all */
	struct hl_value total; /* of all traces */
	bool among;            /* there are several */
	bool no_order;         /* this one is a profile, which knows no peak */
	bool moved;            /* what is shown of this trace is not what was asked for */
	HL_VEC(struct hl_process_row) processes; /* text of --group process */
};
HL_SYMBOL_STATE_CHECK(struct hl_report);

/*
 * The question itself: what is counted, and of which blocks. Rows of every command that asks the
 * model, whose state begins with struct hl_report. check: 0, or an exit status with a message.
 */
const char *hl_question_peak(void *state, const char *value);
const char *hl_question_leaks(void *state, const char *value);
const char *hl_question_at(void *state, const char *value);
const char *hl_question_allocated(void *state, const char *value);
const char *hl_question_temporary(void *state, const char *value);
const char *hl_question_growth(void *state, const char *value);
const char *hl_question_range(void *state, const char *value);
const char *hl_question_filter(void *state, const char *value);
const char *hl_question_pool(void *state, const char *value);
const char *hl_question_include_function(void *state, const char *value);
const char *hl_question_exclude_function(void *state, const char *value);
const char *hl_question_include_module(void *state, const char *value);
const char *hl_question_exclude_module(void *state, const char *value);
const char *hl_question_suppressions(void *state, const char *value);
const char *hl_question_no_defaults(void *state, const char *value);
int hl_question_check(struct hl_report *r);
/* The same of a table's group. */
int hl_question_check_group(const struct hl_report *r, enum hl_group group);
void hl_question_fini(void *state);
/* clang-format off */
#define HL_QUESTION_OPTS(peak_help) \
	{0, "peak", NULL, peak_help, hl_question_peak}, \
	{0, "leaks", NULL, "what was live at the end", hl_question_leaks}, \
	{0, "at", "TIME", "what was live at TIME: 12.5s, 50%, @peak, @end, @mark:NAME", hl_question_at}, \
	{0, "allocated", NULL, "everything that was allocated, freed or not", hl_question_allocated}, \
	{0, "temporary", "[DURATION]", "freed by the very next event, or sooner than DURATION", \
		hl_question_temporary}, \
	{0, "growth", "A..B", "allocated between the times A and B and alive at B", hl_question_growth}, \
	{0, "range", "A..B", "allocated or temporary only from A to B", hl_question_range}
#define HL_CHOICE_OPTS \
	{0, "filter", "EXPR", "only blocks that fit EXPR, see below; again: and", hl_question_filter}, \
	{0, "pool", "NAME", "blocks of the program's own pools of this name, not the heap's", \
		hl_question_pool}, \
	{'i', "include-function", "NAME", "only stacks with such a function; again: or", \
		hl_question_include_function}, \
	{'x', "exclude-function", "NAME", "no stacks with such a function", \
		hl_question_exclude_function}, \
	{0, "include-module", "NAME", "only stacks with a frame in such a module", \
		hl_question_include_module}, \
	{0, "exclude-module", "NAME", "no stacks with a frame in such a module", \
		hl_question_exclude_module}, \
	{0, "suppressions", "FILE", \
		"leave out leaks by leak:PATTERN lines, as LSan's; may be repeated", \
		hl_question_suppressions}, \
	{0, "no-default-suppressions", NULL, "show what libc and its like keep to the end, too", \
		hl_question_no_defaults}
#define HL_FILTER_ABOUT \
	"EXPR is a list of terms that must all hold; a comma is or, a leading - is not:\n" \
	"  fn:parse*  -file:/usr/include/*  module:libfoo.so  size:>=4K  thread:0,1\n" \
	"  call:realloc  time:1s..2s  life:<1ms  alive:end  addr:0x7f1200001000\n" \
	"  tag:render/*  thread:decoder  -tag:* (in no scope)\n" \
	"  chain-length:>=3  chain-position:1  chain-first:<1K  chain-last:>=1M\n" \
	"  chain-life:>1s  chain-alive:end (of the blocks that reallocs made of one)\n" \
	"  A name is a part of it, a glob or /a regular expression/; a word alone is\n" \
	"  a part of a function's name. fn: also means the called function (malloc).\n" \
	"  \"Quotes\" are for values with spaces or commas: fn:\"operator new\",\n" \
	"  time:@mark:\"a..b\"..\n"
#define HL_QUESTION_ABOUT HL_FILTER_ABOUT "  Terms are about a block's allocation.\n"
/* clang-format on */
/* What the model is asked, once the filter and the suppressions are made; how a head would put it;
 * and whether the trace has the times that are asked for: false with a sentence. */
struct hl_query hl_report_query(const struct hl_report *r);
const char *hl_report_heading(struct hl_report *r, struct hl_model *m);
/* Is it about the peak of the blocks that fit the filter, not about that of the heap? Blocks of
 * pools go by the heap's. */
bool hl_report_has_own_peak(const struct hl_report *r);
/* Finds the peak that the question is about, and says so if it is not the peak of the whole run. 0
 * or -errno with hl_model_error(). */
int hl_report_find_peak(struct hl_report *r, struct hl_model *m);
bool hl_report_has_times(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why);
/* Says what is missing from the trace. */
void hl_report_warn(struct hl_model *m);
/* Says that an answer is of another moment than was asked for, if it is. */
void hl_report_warn_moved(struct hl_report *r, struct hl_model *m, const struct hl_query *q,
	uint64_t got_ns, bool moved);

/* From the options to r->filter and, for leaks, r->suppressions. 0, or an exit status with a
 * message. */
int hl_report_make_filter(struct hl_report *r);
/* Once: a file may be a pipe. */
int hl_report_read_suppressions(struct hl_report *r);
int hl_report_make_suppressions(struct hl_report *r);

/* All of it, with the operands: no, one or several traces. Returns an exit status. */
int hl_report_traces(struct hl_report *r, int n, char **files);

/*
 * Shows all parts of one trace. As JSON: members of an object that has been begun. 0 or -errno with
 * hl_model_error().
 */
int hl_report_show(struct hl_report *r, struct hl_model *m);

/* With a filter there are two peaks: in JSON, which of them an answer is about. */
void hl_report_put_peak_of(struct hl_report *r);
/* Makes it the part that is being shown. */
void hl_report_choose_part(struct hl_report *r, size_t i, enum hl_report_what asked);
/* Of several parts: what any of them lacks, once. */
void hl_report_warn_unknown(struct hl_report *r, struct hl_model *m);
/* --snapshots, --snapshot-deltas and --cumulative-delta. */
int hl_report_snapshots(struct hl_report *r, struct hl_model *m);
/* --freed-by and --mmaps. */
int hl_report_freed_by(struct hl_report *r, struct hl_model *m);
int hl_report_mmaps(struct hl_report *r, struct hl_model *m);
/* Asks, says what must be known about the answer, and counts it. */
int hl_report_ask(
	struct hl_report *r, struct hl_model *m, const struct hl_query *q, struct hl_answer *a);
int hl_report_tree(
	struct hl_report *r, struct hl_model *m, const struct hl_answer *a, const char *what);
size_t hl_report_page_width(void);
/* Does what is shown go by names, so that it matters where some are missing? */
bool hl_report_needs_names(const struct hl_report *r);
/* `export`: which modules have no names, if that is worth saying. */
void hl_export_say_nameless(struct hl_model *m);
/* How --threads and --group process are shown. */
struct hl_text_opts hl_report_list_opts(const struct hl_report *r);
/* A row of --group process, as text; `what` is static. 0 or -ENOMEM. */
int hl_report_add_process(
	struct hl_report *r, struct hl_model *m, const char *what, const struct hl_value *v);

/* Closes the model and returns an exit status. missing: for --strict; NULL: nothing is. */
int hl_report_finish(
	struct hl_report *r, struct hl_model *m, int status, int err, const char *missing);

#endif
