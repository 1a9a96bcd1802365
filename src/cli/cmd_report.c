/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_report.c - the options of `report`, which answers requests about traces as text or JSON.
 * report_traces.c processes the traces.
 */
#include <errno.h>

#include "cli/options/page_style.h"
#include "cli/report/report.h"
#include "util/terminal/pager.h"

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

static const char *set_follow(void *state, const char *value)
{
	((struct hl_report *)state)->follow = true;
	hl_pager_disable(); /* it shows output at its end */
	return NULL;
}

/* JSON is for programs: it has all rows, and its trees begin at the outermost frame. */
static void set_defaults(struct hl_report *r)
{
	struct hl_request *request = &r->options.request;

	hl_cli_page_style(&r->style);
	r->style.shown = &r->shown;
	r->style.command = program_invocation_name;
	if (!r->options.common.json) {
		request->columns = hl_text_timeline_columns(&r->style);
		request->overview = true;
		return;
	}
	request->one_view = true;
	request->unlimited = true;
	request->full_stacks = true;
	request->top_down = true;
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

static void fini_report(void *state)
{
	hl_vec_free(&((struct hl_report *)state)->shown.paths);
	hl_request_options_fini(state);
}

static const struct hl_opt report_opts[] = {
	HL_SESSION_OPTS,
	{0, "bytes", NULL, "print exact numbers of bytes instead of 12.4 MiB", set_bytes},
	{0, "explain", NULL,
		"print which parts of the trace the answer needs and why, not the answer",
		set_explain},
	{0, "follow", NULL,
		"answer again each second while the trace is being written, until the program ends",
		set_follow},
	{0, "json", NULL, "print JSON, with all rows (json.md in share/doc/heaplapse)",
		hl_set_json},
	HL_SYMBOL_OPTS,
	HL_SOURCE_OPT,
	HL_OPT_STRICT,
	{'v', "verbose", NULL,
		"print how much of the file was read, and all modules without complete names",
		hl_set_verbose},
	{0},
};

static const struct hl_opt_table report_tables[] = {
	{hl_request_peak_rows, HL_REQUEST_OFFSET},
	{hl_request_quantity_rows, HL_REQUEST_OFFSET},
	{hl_request_view_rows, HL_REQUEST_OFFSET},
	{hl_request_stack_rows, HL_REQUEST_OFFSET},
	{hl_request_filter_rows, HL_REQUEST_OFFSET},
	{hl_suppression_file_rows, 0},
	{hl_request_suppression_rows, HL_REQUEST_OFFSET},
	{hl_request_limit_rows, HL_REQUEST_OFFSET},
	{hl_request_block_rows, HL_REQUEST_OFFSET},
	{hl_request_budget_rows, HL_REQUEST_OFFSET},
	{0},
};

static const struct hl_example report_examples[] = {
	{"", "an overview"},
	{"--peak app.hlt", "stacks at the peak"},
	{"--leaks app.hlt", "memory never freed"},
	{"--at 50% app.hlt", "live memory halfway"},
	{"--process cc1 app.hlt", "another process"},
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
	"run: each is shown separately, then their sum. The directory of a session, app.hlt.d,\n"
	"means all its processes, as --all does.\n\n"
	"Names that end in -dbgsym are packages of Debian's debug archive. To add it, write\n"
	"the code name of the release (VERSION_CODENAME in /etc/os-release) instead of\n"
	"bookworm into this line of /etc/apt/sources.list.d/debug.list, and run apt update:\n"
	"  deb http://deb.debian.org/debian-debug bookworm-debug main\n",
	.tables = report_tables,
	.opts = report_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct hl_report),
	.run = run_report,
	.fini = fini_report,
};
