/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_report.c - the options of `report`, which answers requests about traces as text or JSON.
 * report_traces.c processes the traces.
 */
#include <langinfo.h>
#include <string.h>
#include <unistd.h>

#include "cli/report/report.h"
#include "util/terminal/terminal.h"

static const char *set_bytes(void *state, const char *value)
{
	((struct hl_report *)state)->style.exact_bytes = true;
	return NULL;
}

static const char *set_explain(void *state, const char *value)
{
	((struct hl_report *)state)->explain = true;
	return NULL;
}

#define MIN_WIDTH 40
#define MAX_WIDTH 1000

static size_t page_width(void)
{
	unsigned n = hl_term_width(STDOUT_FILENO);

	if (n == 0)
		return 80; /* the width is not known */
	return n < MIN_WIDTH ? MIN_WIDTH : n > MAX_WIDTH ? MAX_WIDTH : n;
}

static void set_style(struct hl_text_opts *style)
{
	style->color = hl_cli_colors(STDOUT_FILENO);
	style->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	style->width = page_width();
	style->shorten = isatty(STDOUT_FILENO);
}

/* JSON is for programs: it leaves nothing out, and its trees begin at the outermost frame. */
static void set_defaults(struct hl_report *r)
{
	struct hl_request *request = &r->options.request;

	set_style(&r->style);
	if (!r->options.common.json) {
		request->columns = hl_text_timeline_columns(&r->style);
		return;
	}
	request->one_view = true;
	request->unlimited = true;
	request->full_stacks = true;
	request->top_down = true;
	request->no_default_suppressions = true;
}

static int run_report(void *state, int argc, char **argv)
{
	struct hl_report *r = state;
	struct hl_request_error why;
	int err, status;

	set_defaults(r);
	err = hl_request_finish(&r->options.request, &hl_cli_notes, &why);
	status = err ? hl_request_print_error(err, &why) : 0;
	if (!status)
		status = hl_request_read_suppressions(&r->options);
	return status ? status : hl_report_traces(r, argc, argv);
}

static const struct hl_opt report_opts[] = {
	{0, "bytes", NULL, "print exact numbers of bytes instead of 12.4 MiB", set_bytes},
	{0, "explain", NULL,
		"print which parts of the trace the answer needs and why, not the answer",
		set_explain},
	{0, "json", NULL, "print JSON, with all rows (json.md in share/doc/heaplapse)",
		hl_set_json},
	HL_SYMBOL_OPTS,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_opt_table report_tables[] = {
	{hl_request_peak_rows, HL_REQUEST_OFFSET},
	{hl_request_quantity_rows, HL_REQUEST_OFFSET},
	{hl_request_view_rows, HL_REQUEST_OFFSET},
	{hl_request_filter_rows, HL_REQUEST_OFFSET},
	{hl_suppression_file_rows, 0},
	{hl_request_suppression_rows, HL_REQUEST_OFFSET},
	{hl_request_limit_rows, HL_REQUEST_OFFSET},
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
	.tables = report_tables,
	.opts = report_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct hl_report),
	.run = run_report,
	.fini = hl_request_options_fini,
};
