/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_rows.c - the keys of a request: a row and a setter each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "request/request.h"
#include "request/size_parse.h"

#define NO_MEMORY "small enough for the available memory"

static bool equals_string(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Keeps the first contradiction for the message. The same option and value twice is not a
 * contradiction. */
static void note_choice(struct hl_request_choice *c, const char *option, const char *value)
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

static struct hl_request *select_quantity(
	void *state, enum hl_request_quantity quantity, const char *option, const char *value)
{
	struct hl_request *r = state;

	note_choice(&r->quantity_option, option, value);
	r->quantity = quantity;
	return r;
}

const char *hl_request_set_peak(void *state, const char *value)
{
	select_quantity(state, HL_REQUEST_PEAK, "--peak", NULL);
	return NULL;
}

static const char *set_leaks(void *state, const char *value)
{
	select_quantity(state, HL_REQUEST_LEAKS, "--leaks", NULL);
	return NULL;
}

static const char *set_allocated(void *state, const char *value)
{
	select_quantity(state, HL_REQUEST_ALLOCATED, "--allocated", NULL);
	return NULL;
}

static const char *set_at(void *state, const char *value)
{
	struct hl_request *r = select_quantity(state, HL_REQUEST_AT, "--at", value);

	return hl_time_spec_parse(value, strlen(value), &r->at) ? HL_TIME_SPEC_EXPECTED : NULL;
}

static const char *parse_range(struct hl_request *r, const char *option, const char *value)
{
	size_t at;

	note_choice(&r->range_option, option, value);
	r->ranged = true;
	return hl_time_spec_parse_range(value, strlen(value), &r->from, &r->to, &at)
		       ? "a range of times such as 1s..2.5s, 50%.. or @mark:login..@peak"
		       : NULL;
}

static const char *set_range(void *state, const char *value)
{
	return parse_range(state, "--range", value);
}

static const char *set_growth(void *state, const char *value)
{
	return parse_range(
		select_quantity(state, HL_REQUEST_GROWTH, "--growth", value), "--growth", value);
}

static const char *set_temporary(void *state, const char *value)
{
	struct hl_request *r = select_quantity(state, HL_REQUEST_TEMPORARY, "--temporary", value);
	struct hl_time_spec w;

	if (!value)
		return NULL;
	if (hl_time_spec_parse(value, strlen(value), &w) || w.kind != HL_TIME_SPEC_NS || w.ns == 0)
		return "a duration such as 100us or 2.5ms";
	r->temporary_ns = w.ns;
	return NULL;
}

/* --- views --- */

const char *hl_request_add_view(struct hl_request *r, struct hl_request_part part)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view == part.view && r->parts.data[i].group == part.group)
			return NULL;
	}
	return hl_vec_push(&r->parts, part) ? NO_MEMORY : NULL;
}

/* The group of a view that is a table. */
static enum hl_group group_of(enum hl_view_id id)
{
	return id == HL_VIEW_ID_sizes       ? HL_GROUP_SIZE
	       : id == HL_VIEW_ID_lifetimes ? HL_GROUP_LIFETIME
					    : HL_GROUP_SITE;
}

#define X(name, renderer, option_, help)                                         \
	static const char *set_view_##name(void *state, const char *value)       \
	{                                                                        \
		return hl_request_add_view(                                      \
			state, (struct hl_request_part){.view = &hl_view_##name, \
				       .option = "--" option_,                   \
				       .group = group_of(HL_VIEW_ID_##name)});   \
	}
HL_VIEWS_WITH_OPTION(X)
#undef X

static const char *set_group(void *state, const char *value)
{
	struct hl_request_part part = {.view = &hl_view_table, .option = "--group", .value = value};

	if (strcmp(value, "process") == 0)
		part.view = &hl_view_process;
	else if (hl_group_find(value, &part.group))
		return HL_OPT_NOT_LISTED;
	return hl_request_add_view(state, part);
}

/* Digits behind the last colon are a line. */
static size_t find_line(const char *value, uint32_t *line)
{
	size_t len = strlen(value), digits = len;
	unsigned long long n;

	*line = 0;
	while (digits > 0 && value[digits - 1] >= '0' && value[digits - 1] <= '9')
		digits--;
	if (digits < 2 || digits == len || len - digits > 9 || value[digits - 1] != ':')
		return len;
	n = strtoull(value + digits, NULL, 10);
	*line = (uint32_t)n;
	return n > 0 ? digits - 1 : len;
}

const char *hl_request_set_source(void *state, const char *value)
{
	struct hl_request *r = state;
	struct hl_request_part part = {
		.view = &hl_view_source, .option = "--source", .value = value};

	if (!value[0])
		return "FILE or FILE:LINE";
	if (r->source.file && strcmp(r->source.file, value) != 0)
		return "one file only";
	r->source.file = value;
	r->source.file_len = find_line(value, &r->source.line);
	return hl_request_add_view(r, part);
}

const char *hl_request_set_mapping(void *state, const char *value)
{
	struct hl_mapping_choice *c = &((struct hl_request *)state)->mapping;
	struct hl_pattern_error error = {0};
	struct hl_pattern *name;
	char *end;

	if (c->name || c->by_address)
		return "one mapping only";
	if (strncmp(value, "0x", 2) == 0) {
		errno = 0;
		c->address = strtoull(value + 2, &end, 16);
		c->by_address = true;
		return value[2] && !*end && !errno ? NULL : "an address such as 0x7f1200001000";
	}
	if (!value[0] || hl_pattern_new(&name, value, strlen(value), &error))
		return "a name, a glob, /a regular expression/ or an address";
	c->name = name;
	return NULL;
}

const char *hl_request_set_whole_file(void *state, const char *value)
{
	((struct hl_request *)state)->source.whole = true;
	return NULL;
}

static const char *set_top_down(void *state, const char *value)
{
	((struct hl_request *)state)->top_down = true;
	return NULL;
}

static const char *set_full_stacks(void *state, const char *value)
{
	((struct hl_request *)state)->full_stacks = true;
	return NULL;
}

static const char *set_no_wrappers(void *state, const char *value)
{
	((struct hl_request *)state)->no_wrappers = true;
	return NULL;
}

/* --- limits --- */

static const char *set_min(void *state, const char *value)
{
	struct hl_request *r = state;
	char *end;
	double min = strtod(value, &end);

	if (*end == '%')
		end++;
	if (end == value || *end || !(min >= 0 && min <= 100))
		return "a share from 0 to 100";
	r->min_given = true;
	r->min = min;
	return NULL;
}

static const char *set_limit(void *state, const char *value)
{
	struct hl_request *r = state;
	char *end;

	errno = 0;
	r->limit_given = true;
	r->limit = strtoul(value, &end, 10);
	return value[0] < '0' || value[0] > '9' || *end || errno ? "a number" : NULL;
}

static const char *set_max_time(void *state, const char *value)
{
	struct hl_time_spec t;

	if (hl_time_spec_parse(value, strlen(value), &t) || t.kind != HL_TIME_SPEC_NS || t.ns == 0)
		return "a duration from 1ns (units: ns, us, ms, s, min, h), such as 300ms or 2s";
	((struct hl_request *)state)->budget.max_ns = t.ns;
	return NULL;
}

static const char *set_max_rows(void *state, const char *value)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end || errno || n == 0)
		return "a number from 1";
	((struct hl_request *)state)->budget.max_rows = n;
	return NULL;
}

static const char *set_max_bytes(void *state, const char *value)
{
	uint64_t n;

	if (!hl_size_parse(value, HL_BUDGET_BYTES_MIN, INT64_MAX, &n))
		return "a size from 4K to 8589934591G (units: K, M, G), such as 64K or 2M";
	((struct hl_request *)state)->budget.max_bytes = n;
	return NULL;
}

#define GROUP_VALUES \
	"stack|function|site|file|module|thread|call|size|life|snapshot|tag|pool|process"
#define SORT_VALUES                                                                              \
	"bytes|blocks|average|name|time|address|size|life|leaked|first|last|interval|run-blocks" \
	"|run-leaked|run-first|run-last|run-interval|run-peak"

static const char *set_sort(void *state, const char *value)
{
	struct hl_request *r = state;
	int i = hl_word_find(SORT_VALUES, value); /* the order of enum hl_sort */

	if (i < 0)
		return HL_OPT_NOT_LISTED;
	r->sorted = true;
	r->sort = (enum hl_sort)i;
	r->sort_value = value;
	return NULL;
}

/* --- pages of single blocks --- */

static const char *set_reverse(void *state, const char *value)
{
	((struct hl_request *)state)->reverse = true;
	return NULL;
}

static const char *set_offset(void *state, const char *value)
{
	struct hl_request *r = state;

	r->offset = strlen(value) <= 9 ? strtoul(value, NULL, 10) : SIZE_MAX;
	return *value && strspn(value, "0123456789") == strlen(value) &&
			       r->offset < HL_BLOCK_LIST_MAX
		       ? NULL
		       : "a number below 100000; --after continues behind any row";
}

static const char *set_after(void *state, const char *value)
{
	struct hl_request *r = state;

	r->after = value;
	return hl_block_cursor_parse(&r->block_page.after, value)
		       ? "the \"next\" of another page, such as 1f400-2a"
		       : NULL;
}

/* --- filters --- */

static const char *add_text(hl_request_texts *texts, const char *value)
{
	return hl_vec_push(texts, value) ? NO_MEMORY : NULL;
}

static const char *add_filter(void *state, const char *value)
{
	return add_text(&((struct hl_request *)state)->filters, value);
}

static const char *add_fold(void *state, const char *value)
{
	return add_text(&((struct hl_request *)state)->folds, value);
}

static const char *add_alloc_function(void *state, const char *value)
{
	return add_text(&((struct hl_request *)state)->alloc_functions, value);
}

static const char *add_include_function(void *state, const char *value)
{
	return add_text(&((struct hl_request *)state)->include_function, value);
}

static const char *add_exclude_function(void *state, const char *value)
{
	return add_text(&((struct hl_request *)state)->exclude_function, value);
}

static const char *add_include_module(void *state, const char *value)
{
	return add_text(&((struct hl_request *)state)->include_module, value);
}

static const char *add_exclude_module(void *state, const char *value)
{
	return add_text(&((struct hl_request *)state)->exclude_module, value);
}

static const char *set_pool(void *state, const char *value)
{
	struct hl_request *r = state;
	struct hl_pattern_error error = {0};

	hl_pattern_free(r->pool);
	r->pool = NULL;
	r->pool_name = value;
	return hl_pattern_new(&r->pool, value, strlen(value), &error)
		       ? "the name of a pool, a glob or /a regular expression/"
		       : NULL;
}

/* --- rows --- */

const struct hl_opt hl_request_peak_rows[] = {
	HL_REQUEST_PEAK_ROW("(the default of trees and tables)"), {0}};

const struct hl_opt hl_request_quantity_rows[] = {
	{0, "leaks", NULL, "memory live at the end", set_leaks},
	{0, "at", "TIME", "memory live at TIME (12.5s, 50%, @peak, @end, @mark:NAME)", set_at},
	{0, "allocated", NULL, "all allocations, freed or not", set_allocated},
	{0, "temporary", "[DURATION]", "blocks freed by the very next event, or within DURATION",
		set_temporary},
	{0, "growth", "A..B", "blocks allocated between A and B and live at B", set_growth},
	{0, "range", "A..B",
		"with --allocated, --temporary and report's --timeline: only from A to B",
		set_range},
	{0},
};

#define X(name, renderer, option, help) {0, option, NULL, help, set_view_##name},
const struct hl_opt hl_request_view_rows[] = {
	{0, "top-down", NULL, "begin the tree at the outermost frame, not at the allocating one",
		set_top_down},
	HL_VIEWS_WITH_OPTION(X){'g', "group", "GROUP:" GROUP_VALUES,
		"a flat table that counts each block in one row", set_group},
	{0, "source", "FILE",
		"the lines of a source file with their bytes; FILE as in --group=file, or its end, "
		"or either with :LINE",
		hl_request_set_source},
	{0, "mapping", "NAME|ADDRESS",
		"with --resident: only mappings of this name, or at 0xADDRESS",
		hl_request_set_mapping},
	{0, "whole-file", NULL, "with --source: also the lines without blocks",
		hl_request_set_whole_file},
	{0},
};
#undef X

const struct hl_opt hl_request_stack_rows[] = {
	{0, "full-stacks", NULL,
		"show every frame: of libraries, inside of the call site, and before main",
		set_full_stacks},
	{0, "fold", "EXPR",
		"treat frames that match EXPR (fn:, file:, module:) as library code; may be "
		"repeated",
		add_fold},
	{0, "alloc-fn", "NAME",
		"treat functions NAME as allocation wrappers (without a name: an address); may be "
		"repeated",
		add_alloc_function},
	{0, "no-wrappers", NULL, "do not look for allocation wrappers", set_no_wrappers},
	{0},
};

const struct hl_opt hl_request_filter_rows[] = {
	{0, "filter", "EXPR", "only blocks that match EXPR (see below); repeat to AND", add_filter},
	{0, "pool", "NAME", "show blocks of the program's own pools of this name, not of the heap",
		set_pool},
	{'i', "include-function", "NAME", "only stacks with this function; repeat to OR",
		add_include_function},
	{'x', "exclude-function", "NAME", "no stacks with this function", add_exclude_function},
	{0, "include-module", "NAME", "only stacks with a frame in this module",
		add_include_module},
	{0, "exclude-module", "NAME", "no stacks with a frame in this module", add_exclude_module},
	{0},
};

static const char *set_no_defaults(void *state, const char *value)
{
	((struct hl_request *)state)->no_default_suppressions = true;
	return NULL;
}

const struct hl_opt hl_request_suppression_rows[] = {
	{0, "no-default-suppressions", NULL,
		"also show memory that libc and other runtimes keep to the end", set_no_defaults},
	{0},
};

const struct hl_opt hl_request_limit_rows[] = {
	{0, "min", "PERCENT", "hide rows below this share (default 0.5; text only)", set_min},
	{'n', "limit", "N",
		"show at most N rows, or branches of a row (0: all; text only, "
		"except --blocks and --timeline --group)",
		set_limit},
	{'s', "sort", "BY:" SORT_VALUES, "sort (a tree only by the first two)", set_sort},
	{0},
};

const struct hl_opt hl_request_block_rows[] = {
	{0, "reverse", NULL, "with --blocks: sort in the other direction", set_reverse},
	{0, "offset", "N", "with --blocks: leave out the first N rows", set_offset},
	{0, "after", "ROW", "with --blocks: continue behind the last row of another page",
		set_after},
	{0},
};

const struct hl_opt hl_request_budget_rows[] = {
	{0, "max-time", "DURATION",
		"answer within DURATION (300ms, 2s), or say what is not answered", set_max_time},
	{0, "max-rows", "N", "write at most N rows in all, and say what is left out", set_max_rows},
	{0, "max-bytes", "SIZE",
		"write at most SIZE bytes (64K, 2M) in all, and say what is left out",
		set_max_bytes},
	{0},
};

const struct hl_opt *const hl_request_tables[] = {hl_request_peak_rows, hl_request_quantity_rows,
	hl_request_view_rows, hl_request_stack_rows, hl_request_filter_rows,
	hl_request_suppression_rows, hl_request_limit_rows, hl_request_block_rows,
	hl_request_budget_rows, NULL};

/* --- key/value pairs --- */

static const struct hl_opt *find_row(const char *key)
{
	for (const struct hl_opt *const *t = hl_request_tables; *t; t++) {
		for (const struct hl_opt *o = *t; !hl_opt_is_end(o); o++) {
			if (strcmp(o->long_name, key) == 0)
				return o;
		}
	}
	return NULL;
}

int hl_request_set(
	struct hl_request *r, const char *key, const char *value, struct hl_request_error *why)
{
	*why = (struct hl_request_error){0};
	return hl_opt_store_pair(find_row(key), key, value, r, why->text, sizeof(why->text))
		       ? 0
		       : -EINVAL;
}
