/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_info.c - prints header and totals of a trace.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/files/session_choice.h"
#include "cli/options/page_style.h"
#include "model/query/sums.h"
#include "util/terminal/terminal.h"
#include "views/json/json.h"
#include "views/text/session_text.h"
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

static void print_info(struct hl_model *m, const char *file)
{
	struct hl_text_opts style = {.command = program_invocation_name, .file = file};

	hl_cli_page_style(&style);
	hl_text_info(stdout, m, &style);
}

static int print_session(const struct info_state *s, const struct hl_session_list *session)
{
	int err = s->trace.json ? hl_json_session(stdout, session)
				: hl_text_session(stdout, session, 0, "");

	if (err)
		hl_cli_error("%s", strerror(-err));
	return err ? HL_EXIT_IO : HL_EXIT_OK;
}

static int print_trace(const struct info_state *s, struct hl_session_choice *c)
{
	const struct hl_trace_opts *o = &s->trace;
	struct hl_model *m;
	int status = hl_trace_file_open_path(c->files[0], &m);

	if (status)
		return status;
	hl_trace_file_verify(m, s->verify ? UINT64_MAX : VERIFY_BYTES);
	if (s->verify && hl_sums_check(m))
		hl_cli_error("the trace could not be checked completely: %s", hl_model_error(m));
	if (o->json)
		hl_json_info(stdout, m);
	else
		print_info(m, c->files[0]);
	if (!o->json)
		hl_session_print_rest(c);
	return hl_trace_file_close(m, o, NULL);
}

static int run_info(void *state, int argc, char **argv)
{
	struct info_state *s = state;
	struct hl_session_choice c;
	int status = hl_session_choose(&c, &s->trace, argc, argv, HL_SESSION_PROGRAM);

	if (!status && c.is_session)
		status = print_session(s, c.session);
	else if (!status && c.n > 1)
		status = hl_cli_usage(
			"takes one trace, but \"%s\" follows \"%s\"", c.files[1], c.files[0]);
	else if (!status)
		status = print_trace(s, &c);
	status = hl_session_choice_status(&c, status);
	hl_session_choice_fini(&c);
	return status;
}

static const struct hl_opt info_opts[] = {
	HL_SESSION_OPTS,
	{0, "json", NULL, "print JSON", hl_set_json},
	{0, "verify", NULL, "read and check the whole file (always done up to 64 MiB)", set_verify},
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_example info_examples[] = {
	{"app.hlt", "program, times, totals and missing data"},
	{"--json app.hlt", "the same as JSON"},
	{"--all app.hlt", "all processes of the run, by their peak"},
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
