/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_report.c - the options of `report`, which answers queries about traces as text or JSON.
 * report_traces.c processes the traces, report_show.c has the views.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report_request.h"
#include "util/safe_text.h"

/* --- options --- */

/* A setter of an option without a value. */
#define SETTER(name, statement)                                       \
	static const char *set_##name(void *state, const char *value) \
	{                                                             \
		struct hl_report *r = state;                          \
                                                                      \
		statement;                                            \
		return NULL;                                          \
	}

SETTER(top_down, r->top_down = true)
SETTER(full_stacks, r->full_stacks = true)

static bool equals_string(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Keeps the first contradiction for the message. The same option and value twice is not a
 * contradiction. */
static void note_choice(struct hl_report_exclusive_option *c, const char *option, const char *value)
{
	if (!c->option) {
		c->option = option;
		c->value = value;
	} else if (!c->other &&
		   !(equals_string(c->option, option) && equals_string(c->value, value))) {
		c->other = option;
		c->other_value = value;
	}
}

/* --- quantity --- */

static struct hl_report *select_quantity(
	void *state, enum hl_report_what what, const char *option, const char *value)
{
	struct hl_report *r = state;

	note_choice(&r->quantity_option, option, value);
	r->what = what;
	return r;
}

const char *hl_request_peak(void *state, const char *value)
{
	select_quantity(state, HL_REPORT_PEAK, "--peak", NULL);
	return NULL;
}

const char *hl_request_leaks(void *state, const char *value)
{
	select_quantity(state, HL_REPORT_LEAKS, "--leaks", NULL);
	return NULL;
}

const char *hl_request_allocated(void *state, const char *value)
{
	select_quantity(state, HL_REPORT_ALLOCATED, "--allocated", NULL);
	return NULL;
}

const char *hl_request_at(void *state, const char *value)
{
	struct hl_report *r = select_quantity(state, HL_REPORT_AT, "--at", value);

	return hl_time_spec_parse(value, strlen(value), &r->at) ? HL_TIME_SPEC_EXPECTED : NULL;
}

static const char *parse_range(struct hl_report *r, const char *option, const char *value)
{
	size_t at;

	note_choice(&r->range, option, value);
	r->ranged = true;
	return hl_time_spec_parse_range(value, strlen(value), &r->from, &r->to, &at)
		       ? "a range of times such as 1s..2.5s, 50%.. or @mark:login..@peak"
		       : NULL;
}

const char *hl_request_range(void *state, const char *value)
{
	return parse_range(state, "--range", value);
}

const char *hl_request_growth(void *state, const char *value)
{
	return parse_range(
		select_quantity(state, HL_REPORT_GROWTH, "--growth", value), "--growth", value);
}

const char *hl_request_temporary(void *state, const char *value)
{
	struct hl_report *r = select_quantity(state, HL_REPORT_TEMPORARY, "--temporary", value);
	struct hl_time_spec w;

	if (!value)
		return NULL;
	if (hl_time_spec_parse(value, strlen(value), &w) || w.kind != HL_TIME_SPEC_NS || w.ns == 0)
		return "a duration such as 100us or 2.5ms";
	r->temporary_ns = w.ns;
	return NULL;
}

/* --- views --- */

static const char *add_view(void *state, struct hl_report_part part)
{
	struct hl_report *r = state;

	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view == part.view && r->parts.data[i].group == part.group)
			return NULL;
	}
	return hl_vec_push(&r->parts, part) ? "small enough for the available memory" : NULL;
}

/* A setter of an option that selects a view. */
#define VIEW(name, option_, ...)                                                                 \
	static const char *set_##name(void *state, const char *value)                            \
	{                                                                                        \
		return add_view(                                                                 \
			state, (struct hl_report_part){.option = option_, .view = __VA_ARGS__}); \
	}

VIEW(sites, "--sites", HL_REPORT_SITES, .group = HL_GROUP_SITE)
VIEW(sizes, "--sizes", HL_REPORT_ALL_BY, .group = HL_GROUP_SIZE)
VIEW(lifetimes, "--lifetimes", HL_REPORT_ALL_BY, .group = HL_GROUP_LIFETIME)
VIEW(threads, "--threads", HL_REPORT_THREADS)
VIEW(timeline, "--timeline", HL_REPORT_TIMELINE)
VIEW(fragmentation, "--fragmentation", HL_REPORT_FRAGMENTATION)
VIEW(freed_by, "--freed-by", HL_REPORT_FREED_BY)
VIEW(mmaps, "--mmaps", HL_REPORT_MMAPS)
VIEW(snapshots, "--snapshots", HL_REPORT_SNAPSHOTS)
VIEW(deltas, "--snapshot-deltas", HL_REPORT_DELTAS)
VIEW(cumulative, "--cumulative-delta", HL_REPORT_CUMULATIVE)

static const char *set_group(void *state, const char *value)
{
	struct hl_report_part part = {.view = HL_REPORT_TABLE, .option = "--group", .value = value};

	if (strcmp(value, "process") == 0)
		part.view = HL_REPORT_PROCESSES;
	else if (hl_group_find(value, &part.group))
		return HL_OPT_NOT_LISTED;
	return add_view(state, part);
}

static const char *set_min(void *state, const char *value)
{
	struct hl_report *r = state;
	char *end;

	r->min_given = true;
	r->min = strtod(value, &end);
	if (*end == '%')
		end++;
	if (end == value || *end || !(r->min >= 0 && r->min <= 100))
		return "a share from 0 to 100";
	return NULL;
}

static const char *set_limit(void *state, const char *value)
{
	struct hl_report *r = state;
	char *end;

	errno = 0;
	r->limit_given = true;
	r->limit = strtoul(value, &end, 10);
	return value[0] < '0' || value[0] > '9' || *end || errno ? "a number" : NULL;
}

#define GROUP_VALUES \
	"stack|function|site|file|module|thread|call|size|life|snapshot|tag|pool|process"
#define SORT_VALUES "bytes|blocks|average|name"

static const char *set_sort(void *state, const char *value)
{
	struct hl_report *r = state;
	int i = hl_word_find(SORT_VALUES, value); /* the order of enum hl_sort */

	r->sorted = true;
	r->sort = (enum hl_sort)i;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

static const char *set_bytes(void *state, const char *value)
{
	hl_text_set_exact_bytes(true);
	return NULL;
}

static const char *add_name(hl_report_names *names, const char *value)
{
	return hl_vec_push(names, value) ? "small enough for the available memory" : NULL;
}

const char *hl_request_filter(void *state, const char *value)
{
	return add_name(&((struct hl_report *)state)->filter_exprs, value);
}

const char *hl_request_suppressions(void *state, const char *value)
{
	return add_name(&((struct hl_report *)state)->suppression_files, value);
}

const char *hl_request_no_defaults(void *state, const char *value)
{
	((struct hl_report *)state)->no_defaults = true;
	return NULL;
}

const char *hl_request_include_function(void *state, const char *value)
{
	return add_name(&((struct hl_report *)state)->include_function, value);
}

const char *hl_request_exclude_function(void *state, const char *value)
{
	return add_name(&((struct hl_report *)state)->exclude_function, value);
}

const char *hl_request_include_module(void *state, const char *value)
{
	return add_name(&((struct hl_report *)state)->include_module, value);
}

const char *hl_request_exclude_module(void *state, const char *value)
{
	return add_name(&((struct hl_report *)state)->exclude_module, value);
}

const char *hl_request_pool(void *state, const char *value)
{
	struct hl_report *r = state;
	struct hl_pattern_error error = {0};

	hl_pattern_free(r->pool);
	r->pool = NULL;
	r->pool_name = value;
	return hl_pattern_new(&r->pool, value, strlen(value), &error)
		       ? "the name of a pool, a glob or /a regular expression/"
		       : NULL;
}

static int reject_pair(const char *a, const char *a_value, const char *b, const char *b_value)
{
	return hl_cli_usage("%s%s%s and %s%s%s exclude each other", a, a_value ? "=" : "",
		a_value ? a_value : "", b, b_value ? "=" : "", b_value ? b_value : "");
}

static int check_choice(const struct hl_report_exclusive_option *c)
{
	return c->other ? reject_pair(c->option, c->value, c->other, c->other_value) : 0;
}

/* Several views are printed one after the other, but not in one JSON document, and not together
 * with one line for each process. */
static int check_parts(const struct hl_report *r)
{
	const struct hl_report_part *first = r->parts.data, *next;

	if (r->parts.len < 2)
		return 0;
	next = first + 1;
	if (r->common.json)
		return hl_cli_usage("--json takes one view, but %s and %s were given",
			first->option, next->option);
	for (size_t i = 1; i < r->parts.len; i++) {
		if (first->view == HL_REPORT_PROCESSES ||
			r->parts.data[i].view == HL_REPORT_PROCESSES)
			return reject_pair(first->option, first->value, r->parts.data[i].option,
				r->parts.data[i].value);
	}
	return 0;
}

/* Fragmentation is a property of one moment, so --fragmentation needs a quantity of one moment. */
static int check_fragmentation(const struct hl_report *r)
{
	const char *option =
		r->quantity_option.option ? r->quantity_option.option : r->range.option;

	if (r->what != HL_REPORT_ALLOCATED && r->what != HL_REPORT_TEMPORARY &&
		r->what != HL_REPORT_GROWTH)
		return 0;
	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view == HL_REPORT_FRAGMENTATION)
			return hl_cli_usage("--fragmentation needs a moment, not %s: use --peak, "
					    "--at TIME or --leaks",
				option);
	}
	return 0;
}

/* Mappings are not blocks, and the list covers the whole run. */
static int check_mmaps(const struct hl_report *r)
{
	const char *option =
		r->quantity_option.option ? r->quantity_option.option : r->range.option;

	for (size_t i = 0; i < r->parts.len && option; i++) {
		if (r->parts.data[i].view == HL_REPORT_MMAPS)
			return hl_cli_usage(
				"--mmaps lists the mappings of the whole run; %s does not apply, "
				"use --filter with time:, alive:, life:, size: or fn:",
				option);
	}
	return 0;
}

static bool is_of_whole_run(enum hl_report_view view)
{
	return view == HL_REPORT_TIMELINE || view == HL_REPORT_THREADS ||
	       view == HL_REPORT_SNAPSHOTS || view == HL_REPORT_DELTAS ||
	       view == HL_REPORT_CUMULATIVE;
}

/* Warns about views that ignore a given time. */
static void warn_whole_run(const struct hl_report *r)
{
	const char *option = r->what == HL_REPORT_AT ? r->quantity_option.option : r->range.option;

	for (size_t i = 0; i < r->parts.len && option; i++) {
		if (is_of_whole_run(r->parts.data[i].view))
			hl_cli_error("%s shows the whole run: %s does not apply; use --filter",
				r->parts.data[i].option, option);
	}
}

static int check_sort(const struct hl_report *r)
{
	if (!r->sorted || r->sort == HL_SORT_BYTES)
		return 0;
	if (r->parts.len == 0 && r->sort != HL_SORT_BLOCKS)
		return hl_cli_usage("a tree is sorted by bytes or blocks; a table, such as "
				    "--sites, also by average or name");
	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view == HL_REPORT_FREED_BY)
			return hl_cli_usage("--freed-by is always sorted by bytes: omit --sort");
	}
	return 0;
}

int hl_request_check_group(const struct hl_report *r, enum hl_group group)
{
	if (group == HL_GROUP_POOL && !r->pool)
		return hl_cli_usage(
			"--group=pool needs --pool: add --pool='*' or the name of a pool");
	return 0;
}

/* Views of pools are computed block by block. Views by page, snapshot or time are available only
 * for the heap. */
static int check_pool(const struct hl_report *r)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		const struct hl_report_part *p = &r->parts.data[i];
		bool table = p->view == HL_REPORT_TABLE || p->view == HL_REPORT_ALL_BY;

		int status = table ? hl_request_check_group(r, p->group) : 0;

		if (status)
			return status;
		if (r->pool && (!table || p->group == HL_GROUP_SNAPSHOT))
			return hl_cli_usage("--pool applies to the tree, --sizes, --lifetimes and "
					    "--group, not to %s%s%s",
				p->option, p->value ? "=" : "", p->value ? p->value : "");
	}
	return 0;
}

int hl_request_check(struct hl_report *r)
{
	int status;

	if (r->ranged && r->what == HL_REPORT_NOTHING)
		r->what = HL_REPORT_ALLOCATED;
	status = check_choice(&r->quantity_option);
	if (!status)
		status = check_choice(&r->range);
	if (status)
		return status;
	if (r->ranged && r->what != HL_REPORT_ALLOCATED && r->what != HL_REPORT_TEMPORARY &&
		r->what != HL_REPORT_GROWTH)
		return hl_cli_usage("--range applies to --allocated, --temporary and --growth; use "
				    "--at TIME for a moment");
	if (r->suppression_files.len > 0 && r->what != HL_REPORT_LEAKS)
		return hl_cli_usage("--suppressions applies only to --leaks");
	return 0;
}

/* Checks combinations of options. Returns 0 or an exit status. */
static int check_options(struct hl_report *r)
{
	int status = hl_request_check(r);

	if (!status)
		status = check_parts(r);
	if (!status)
		status = check_fragmentation(r);
	if (!status)
		status = check_mmaps(r);
	if (!status)
		status = check_pool(r);
	return status ? status : check_sort(r);
}

void hl_request_fini(void *state)
{
	struct hl_report *r = state;

	hl_symbol_options_fini(&r->symbols);
	hl_filter_free(r->filter);
	hl_pattern_free(r->pool);
	for (size_t i = 0; i < r->suppression_texts.len; i++)
		free(r->suppression_texts.data[i]);
	hl_vec_free(&r->suppression_texts);
	hl_vec_free(&r->suppression_files);
	hl_vec_free(&r->filter_exprs);
	hl_vec_free(&r->include_function);
	hl_vec_free(&r->exclude_function);
	hl_vec_free(&r->include_module);
	hl_vec_free(&r->exclude_module);
}

static int run_report(void *state, int argc, char **argv)
{
	struct hl_report *r = state;
	int status;

	r->view = r->parts.len > 0 ? r->parts.data[0].view : HL_REPORT_TREE;
	status = check_options(r);
	if (!status)
		warn_whole_run(r);
	if (!status)
		status = hl_report_make_filter(r);
	if (!status)
		status = hl_report_read_suppressions(r);
	if (!status)
		status = hl_report_traces(r, argc, argv);
	return status;
}

static void fini_report(void *state)
{
	struct hl_report *r = state;

	hl_vec_free(&r->parts);
	hl_request_fini(r);
}

static const struct hl_opt report_opts[] = {
	HL_REQUEST_OPTS("memory live at the peak; with a filter, at the peak of the matching "
			"blocks (the default)"),
	{0, "top-down", NULL, "begin the tree at the outermost frame, not at the allocating one",
		set_top_down},
	{0, "full-stacks", NULL,
		"include the frames before main, which all stacks share (text only)",
		set_full_stacks},
	{0, "sites", NULL, "a list of call sites with lifetimes and their trend over time",
		set_sites},
	{0, "sizes", NULL, "blocks by size", set_sizes},
	{0, "lifetimes", NULL, "blocks by lifetime", set_lifetimes},
	{0, "threads", NULL, "allocations and frees by thread, and frees across threads",
		set_threads},
	{0, "timeline", NULL, "live bytes over time, as a plot", set_timeline},
	{0, "fragmentation", NULL,
		"how full the heap's pages are, and which sites hold nearly empty ones",
		set_fragmentation},
	{0, "freed-by", NULL,
		"which sites free the blocks of each site (needs record --free-stacks)",
		set_freed_by},
	{0, "mmaps", NULL, "the program's own mappings, largest first (needs record --mmap)",
		set_mmaps},
	{0, "snapshots", NULL, "memory live at each snapshot of the program", set_snapshots},
	{0, "snapshot-deltas", NULL, "blocks allocated since the snapshot before and still live",
		set_deltas},
	{0, "cumulative-delta", NULL,
		"blocks allocated since the first snapshot and live at the last", set_cumulative},
	{'g', "group", "GROUP:" GROUP_VALUES, "a flat table that counts each block in one row",
		set_group},
	HL_FILTER_OPTS,
	{0, "min", "PERCENT", "hide rows below this share (default 0.5; text only)", set_min},
	{'n', "limit", "N", "show at most N rows, or branches of a row (0: all; text only)",
		set_limit},
	{'s', "sort", "BY:" SORT_VALUES, "sort (a tree only by the first two)", set_sort},
	{0, "bytes", NULL, "print exact numbers of bytes instead of 12.4 MiB", set_bytes},
	{0, "json", NULL, "print JSON, with all rows (json.md in share/doc/heaplapse)",
		hl_set_json},
	HL_SYMBOL_OPTS,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_example report_examples[] = {
	{"", "memory at its peak"},
	{"--leaks app.hlt", "memory never freed"},
	{"--at 50% app.hlt", "live memory halfway"},
	{"--sites --filter 'size:>=4K' app.hlt", "sites of large blocks"},
	{0},
};

const struct hl_cmd hl_cmd_report = {
	.name = "report",
	.summary = "show which stacks held memory (trees, tables)",
	.usage = "[options] [FILE...]",
	.examples = report_examples,
	.about = HL_REQUEST_ABOUT
	"Several views are shown one after the other. Several FILEs are the processes of one\n"
	"run: each is shown separately, then their sum.\n",
	.opts = report_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct hl_report),
	.run = run_report,
	.fini = fini_report,
};
