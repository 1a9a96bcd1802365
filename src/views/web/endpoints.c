/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoints.c - the endpoints, as rows. docs/http-api.md is made from them.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "views/web/web_internal.h"

#define REQUEST offsetof(struct hl_web_query, request)
#define QUERY_TABLES                                                                       \
	{hl_request_peak_rows, REQUEST}, {hl_request_quantity_rows, REQUEST},              \
		{hl_request_filter_rows, REQUEST}, {hl_request_suppression_rows, REQUEST}, \
	{                                                                                  \
		hl_request_stack_rows, REQUEST                                             \
	}
#define BUDGET_TABLES                           \
	{hl_request_limit_rows, REQUEST},       \
	{                                       \
		hl_request_budget_rows, REQUEST \
	}

static const struct hl_opt_table report_tables[] = {{hl_request_view_rows, REQUEST}, QUERY_TABLES,
	{hl_request_block_rows, REQUEST}, BUDGET_TABLES, {0}};
static const struct hl_opt_table view_tables[] = {
	{hl_web_table_rows, 0}, QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table blocks_tables[] = {{hl_web_blocks_rows, 0}, QUERY_TABLES,
	{hl_request_block_rows, REQUEST}, BUDGET_TABLES, {0}};
static const struct hl_opt_table timeline_tables[] = {
	{hl_web_timeline_rows, 0}, QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table curves_tables[] = {
	{hl_web_curves_rows, 0}, QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table tree_tables[] = {
	{hl_web_tree_rows, 0}, QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table flame_tables[] = {
	{hl_web_flame_rows, 0}, QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table table_tables[] = {QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table curve_tables[] = {{hl_web_curve_rows, 0}, {0}};
static const struct hl_opt_table log_tables[] = {
	{hl_web_log_rows, 0}, {hl_request_budget_rows, REQUEST}, {0}};
static const struct hl_opt_table source_tables[] = {
	{hl_web_source_rows, 0}, QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table resident_tables[] = {
	{hl_web_resident_rows, 0}, QUERY_TABLES, BUDGET_TABLES, {0}};
static const struct hl_opt_table control_tables[] = {{hl_web_control_rows, 0}, {0}};
static const struct hl_opt_table budget_tables[] = {{hl_request_budget_rows, REQUEST}, {0}};
static const struct hl_opt_table export_tables[] = {{hl_web_export_rows, 0}, QUERY_TABLES, {0}};

#define JSON  "application/json"
#define TRACE "/api/traces/{trace}/"
/* A view of `report`. */
#define X(name_, renderer, option, help_)                                               \
	{.method = "GET",                                                               \
		.path = TRACE option,                                                   \
		.help = help_,                                                          \
		.equals = "report --json --" option,                                    \
		.type = JSON,                                                           \
		.tables = HL_VIEW_ID_##name_ == HL_VIEW_ID_timeline   ? timeline_tables \
			  : HL_VIEW_ID_##name_ == HL_VIEW_ID_blocks   ? blocks_tables   \
			  : HL_VIEW_ID_##name_ == HL_VIEW_ID_resident ? resident_tables \
								      : view_tables,    \
		.view = &hl_view_##name_,                                               \
		.finish = hl_web_finish_report,                                         \
		.run = hl_web_run_report},

const struct hl_web_endpoint hl_web_endpoints[] = {
	{.method = "GET",
		.path = "/",
		.help = "the page, which shows all traces",
		.type = "text/html; charset=utf-8",
		.run = hl_web_run_asset},
	{.method = "GET",
		.path = "/app.js",
		.help = "the script of the page",
		.type = "text/javascript; charset=utf-8",
		.run = hl_web_run_asset},
	{.method = "GET",
		.path = "/app.css",
		.help = "the style sheet of the page",
		.type = "text/css; charset=utf-8",
		.run = hl_web_run_asset},
	{.method = "GET",
		.path = "/metrics",
		.help = "totals of all traces in the text format of Prometheus",
		.type = "text/plain; version=0.0.4; charset=utf-8",
		.run = hl_web_run_metrics},
	{.method = "GET",
		.path = "/api",
		.help = "the endpoints",
		.type = JSON,
		.run = hl_web_run_api},
	{.method = "GET",
		.path = "/api/traces",
		.help = "all traces, with their totals; of a trace that cannot be read the reason",
		.type = JSON,
		.tables = budget_tables,
		.run = hl_web_run_traces},
	{.method = "GET",
		.path = TRACE "info",
		.help = "program, times, totals and missing data",
		.equals = "info --json",
		.type = JSON,
		.run = hl_web_run_info},
	{.method = "GET",
		.path = TRACE "report",
		.help = "any view; without one the tree of the peak",
		.equals = "report --json",
		.type = JSON,
		.tables = report_tables,
		.finish = hl_web_finish_report,
		.run = hl_web_run_report},
	/* clang-format off */
	HL_VIEWS_WITH_OPTION(X)
	/* clang-format on */
	{.method = "GET",
		.path = TRACE "tree",
		.help = "a tree of the frames of all stacks",
		.equals = "report --json",
		.type = JSON,
		.tables = tree_tables,
		.view = &hl_view_tree,
		.finish = hl_web_finish_report,
		.run = hl_web_run_report},
	{.method = "GET",
		.path = TRACE "flame",
		.help = "the same tree, without the nodes that a flame graph cannot show",
		.type = JSON,
		.tables = flame_tables,
		.view = &hl_view_tree,
		.finish = hl_web_finish_report,
		.run = hl_web_run_report},
	{.method = "GET",
		.path = TRACE "table/{group}",
		.help = "a flat table that counts each block in one row",
		.equals = "report --json --group={group}",
		.type = JSON,
		.example = "module",
		.tables = table_tables,
		.view = &hl_view_table,
		.finish = hl_web_finish_report,
		.run = hl_web_run_report},
	{.method = "GET",
		.path = TRACE "timeline/{group}",
		.help = "live bytes over time of each row of a flat table: the data of a stacked "
			"area chart",
		.equals = "report --json --timeline --group={group}",
		.type = JSON,
		.example = "module",
		.tables = curves_tables,
		.view = &hl_view_curves,
		.finish = hl_web_finish_report,
		.run = hl_web_run_report},
	{.method = "GET",
		.path = TRACE "source",
		.help = "the lines of a source file that frames of the trace name, with their "
			"bytes",
		.type = JSON,
		.tables = source_tables,
		.view = &hl_view_source,
		.finish = hl_web_finish_source,
		.run = hl_web_run_report},
	{.method = "GET",
		.path = TRACE "curve",
		.help = "live bytes and resident memory over time, ready at once: in a long range, "
			"columns begin where chunks of the trace begin, and have their own lengths",
		.type = JSON,
		.tables = curve_tables,
		.finish = hl_web_finish_curve,
		.run = hl_web_run_curve},
	{.method = "GET",
		.path = TRACE "log",
		.help = "the snapshots, and the changes between them",
		.equals = "log --json",
		.type = JSON,
		.tables = log_tables,
		.finish = hl_web_finish_log,
		.run = hl_web_run_log},
	{.method = "GET",
		.path = TRACE "processes",
		.help = "the processes of the run that the trace belongs to, the largest first, "
			"with "
			"the answer of `report?group=process` for each, and their sum",
		.type = JSON,
		.tables = table_tables,
		.without_model = true,
		.finish = hl_web_finish_processes,
		.run = hl_web_run_processes},
	{.method = "GET",
		.path = TRACE "control",
		.help = "whether the program is still being recorded, and the state of its "
			"recording",
		.type = JSON,
		.without_model = true,
		.run = hl_web_run_control},
	{.method = "POST",
		.path = TRACE "control/{verb}",
		.help = "executes a verb of `heaplapse ctl` (pause, resume, stop, mode, snapshot, "
			"mark, rotate) and answers with the state after it",
		.type = JSON,
		.example = "pause",
		.tables = control_tables,
		.without_model = true,
		.controls = true,
		.run = hl_web_run_control_verb},
	{.method = "GET",
		.path = "/api/export",
		.help = "the formats",
		.equals = "export --list",
		.type = JSON,
		.run = hl_web_run_formats},
	{.method = "GET",
		.path = TRACE "export/{format}",
		.help = "a file for another viewer, as a download",
		.equals = "export -f {format}",
		.example = "collapsed",
		.tables = export_tables,
		.streams = true,
		.finish = hl_web_finish_export,
		.run = hl_web_run_export},
	{.method = "GET",
		.path = "/api/events",
		.help = "a stream of events: which traces have grown, and how they ended",
		.type = "text/event-stream",
		.streams = true,
		.events = true,
		.run = hl_web_run_events},
	{.method = "GET",
		.path = "/api/queries",
		.help = "the queries that are running, with their progress",
		.type = JSON,
		.run = hl_web_run_queries},
	{.method = "DELETE",
		.path = "/api/queries/{query}",
		.help = "cancels a query",
		.type = JSON,
		.example = "1",
		.run = hl_web_run_cancel},
	{.method = "POST",
		.path = "/api/queries/{query}/cancel",
		.help = "the same, for clients that cannot send DELETE",
		.type = JSON,
		.example = "1",
		.run = hl_web_run_cancel},
	{0},
};
#undef X

/* --- finding a row --- */

/* A word of a path: letters, digits and dashes. */
static size_t word_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '-')
		n++;
	return n;
}

/* Stores a variable part of a path. */
static bool store_part(const char *name, size_t name_len, const char *value, size_t len,
	unsigned *trace, char word[64])
{
	if (len == 0 || len >= 64)
		return false;
	if (name_len == 5 && memcmp(name, "trace", 5) == 0) {
		if (len > 9 || strspn(value, "0123456789") < len)
			return false;
		*trace = (unsigned)strtoul(value, NULL, 10);
		return *trace > 0 && value[0] != '0';
	}
	memcpy(word, value, len);
	word[len] = '\0';
	return true;
}

static bool matches(const char *pattern, const char *path, unsigned *trace, char word[64])
{
	*trace = 0;
	word[0] = '\0';
	while (*pattern) {
		size_t name, len;

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		name = strcspn(++pattern, "}");
		len = word_length(path);
		if (!store_part(pattern, name, path, len, trace, word))
			return false;
		pattern += name + 1;
		path += len;
	}
	return *path == '\0';
}

const struct hl_web_endpoint *hl_web_endpoint_find(
	const char *method, const char *path, unsigned *trace, char word[64], const char **allowed)
{
	*allowed = NULL;
	for (const struct hl_web_endpoint *e = hl_web_endpoints; e->path; e++) {
		if (!matches(e->path, path, trace, word))
			continue;
		if (strcmp(e->method, method) == 0 ||
			(strcmp(method, "HEAD") == 0 && strcmp(e->method, "GET") == 0))
			return e;
		*allowed = e->method;
	}
	return NULL;
}

/* Rows of request tables that only text has, or that an endpoint has as a row of its own. */
static bool is_hidden(const struct hl_opt *o)
{
	return strcmp(o->long_name, "limit") == 0 || strcmp(o->long_name, "min") == 0;
}

const struct hl_opt *hl_web_endpoint_param(
	const struct hl_web_endpoint *e, const char *key, size_t *offset)
{
	for (const struct hl_opt_table *t = e->tables; t && t->rows; t++) {
		for (const struct hl_opt *o = t->rows; !hl_opt_is_end(o); o++) {
			if (strcmp(o->long_name, key) != 0 || (t->offset && is_hidden(o)))
				continue;
			*offset = t->offset;
			return o;
		}
	}
	return NULL;
}

/* --- the document --- */

static const struct {
	const struct hl_opt_table *tables;
	const char *title;
} sets[] = {
	{report_tables, "report"},
	{view_tables, "a view"},
	{timeline_tables, "timeline"},
	{curves_tables, "timeline by group"},
	{blocks_tables, "blocks"},
	{tree_tables, "tree"},
	{flame_tables, "flame"},
	{table_tables, "table"},
	{source_tables, "source"},
	{curve_tables, "curve"},
	{log_tables, "log"},
	{resident_tables, "resident"},
	{control_tables, "control"},
	{budget_tables, "limits"},
	{export_tables, "export"},
};

static const char *title_of(const struct hl_opt_table *tables)
{
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (sets[i].tables == tables)
			return sets[i].title;
	}
	return "";
}

/* A | begins another column of a Markdown table. */
static void put_cell(FILE *out, const char *s, int len)
{
	for (int i = 0; s[i] && i < len; i++)
		fprintf(out, s[i] == '|' ? "\\|" : "%c", s[i]);
}

static void put_param(FILE *out, const struct hl_opt *o)
{
	const char *values = hl_opt_values(o);

	fprintf(out, "| `%s` | ", o->long_name);
	if (values) {
		put_cell(out, values, (int)strlen(values));
	} else if (o->arg) {
		put_cell(out, o->arg, hl_opt_arg_len(o));
	}
	fputs(" | ", out);
	put_cell(out, o->help, (int)strlen(o->help));
	fputs(" |\n", out);
}

static void put_params(FILE *out, const struct hl_opt_table *tables)
{
	fprintf(out, "\n### Parameters: %s\n| key | value | meaning |\n|---|---|---|\n",
		title_of(tables));
	for (const struct hl_opt_table *t = tables; t->rows; t++) {
		for (const struct hl_opt *o = t->rows; !hl_opt_is_end(o); o++) {
			if (!(t->offset && is_hidden(o)))
				put_param(out, o);
		}
	}
}

static void put_endpoint(FILE *out, const struct hl_web_endpoint *e)
{
	fprintf(out, "| %s | `%s` | ", e->method, e->path);
	put_cell(out, e->help, (int)strlen(e->help));
	if (e->equals)
		fprintf(out, " | `heaplapse %s`", e->equals);
	else
		fputs(" | ", out);
	if (e->tables)
		fprintf(out, " | [%s](#parameters-", title_of(e->tables));
	else
		fputs(" | ", out);
	for (const char *s = e->tables ? title_of(e->tables) : ""; *s; s++)
		putc(*s == ' ' ? '-' : *s, out);
	fprintf(out, "%s |\n", e->tables ? ")" : "");
}

void hl_web_write_endpoints(FILE *out)
{
	fputs("# The endpoints of heaplapse serve\n\n"
	      "<!-- Written by `heaplapse serve --endpoints`; do not edit. -->\n\n"
	      "[serve.md](commands/serve.md) describes the command, tokens and limits.\n"
	      "`{trace}` is the number of a trace in `/api/traces`.\n"
	      "JSON is that of the named command, described in [json.md](json.md).\n"
	      "Parameters have the names and the values of its options.\n"
	      "An option without a value is a key without one: `?leaks&group=site`.\n\n"
	      "## Endpoints\n"
	      "| method | path | answer | the same as | parameters |\n|---|---|---|---|---|\n",
		out);
	for (const struct hl_web_endpoint *e = hl_web_endpoints; e->path; e++)
		put_endpoint(out, e);
	fputs("\n## Parameters\n", out);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		put_params(out, sets[i].tables);
}
