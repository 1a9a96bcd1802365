/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_info.c - prints header and totals of a trace.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/files/trace_file.h"
#include "model/query/sums.h"
#include "util/terminal/terminal.h"
#include "views/json/json.h"
#include "views/text/text.h"

#define VERIFY_BYTES (UINT64_C(64) << 20)

struct info_state {
	struct hl_trace_opts trace;
	bool verify;
};

static const char *set_verify(void *state, const char *value)
{
	((struct info_state *)state)->verify = true;
	return NULL;
}

static int run_info(void *state, int argc, char **argv)
{
	struct info_state *s = state;
	struct hl_trace_opts *o = &s->trace;
	struct hl_model *m;
	int status = hl_trace_file_open(argc, argv, &m);

	if (status)
		return status;
	hl_trace_file_verify(m, s->verify ? UINT64_MAX : VERIFY_BYTES);
	if (s->verify && hl_sums_check(m))
		hl_cli_error("the trace could not be checked completely: %s", hl_model_error(m));
	if (o->json)
		hl_json_info(stdout, m);
	else
		hl_text_info(stdout, m, hl_cli_colors(STDOUT_FILENO));
	return hl_trace_file_close(m, o, NULL);
}

static const struct hl_opt info_opts[] = {
	{0, "json", NULL, "print JSON", hl_set_json},
	{0, "verify", NULL, "read and check the whole file (always done up to 64 MiB)", set_verify},
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_example info_examples[] = {
	{"app.hlt", "program, times, totals and missing data"},
	{"--json app.hlt", "the same as JSON"},
	{"--verify", "check every byte of the newest trace"},
	{0},
};

const struct hl_cmd hl_cmd_info = {
	.name = "info",
	.summary = "show the program and the totals of a trace",
	.usage = "[options] [FILE]",
	.examples = info_examples,
	.opts = info_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct info_state),
	.run = run_info,
};
