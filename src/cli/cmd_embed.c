/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_embed.c - stores the program, its libraries and their debug files in the trace.
 */
#include <stdio.h>
#include <string.h>

#include "cli/files/embed_trace.h"
#include "cli/options/output_options.h"
#include "cli/options/symbol_options.h"
#include "util/safe_text.h"

struct embed {
	struct hl_trace_opts common; /* must be the first two members */
	struct hl_symbol_options symbols;
	struct hl_output_options out;
};
HL_SYMBOL_STATE_CHECK(struct embed);
HL_OUTPUT_SETTERS(struct embed);

static void print_done(const struct hl_embed_result *r)
{
	char n[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];

	if (r->done.files == 0)
		hl_cli_info("nothing new to embed");
	else
		hl_cli_info("embedded %s file%s (%s)", hl_text_count(n, r->done.files),
			r->done.files == 1 ? "" : "s", hl_text_bytes(bytes, r->done.bytes));
}

/* Refuses traces whose names do not come from files. Returns 0, or prints a message and returns an
 * exit status. */
static int check_names(const struct hl_trace_info *info, const char *path)
{
	if (info->meta.slice.flags & HL_SLICE_NAMES)
		hl_cli_error(
			"%s is anonymized: embedding its files would reveal the real names", path);
	else if (info->meta.source[0])
		hl_cli_error("%s was imported from %s and already contains all names: there is "
			     "nothing to embed",
			path, info->meta.source);
	else
		return 0;
	return HL_EXIT_IO;
}

static int run_embed(void *state, int argc, char **argv)
{
	struct embed *s = state;
	struct hl_embed_result result = {0};
	struct hl_model *m;
	int status;

	/* There is no default trace, because the command changes its input. */
	if (argc == 0)
		return hl_cli_usage("which trace? for example: heaplapse embed app.hlt");
	if (argc > 1)
		return hl_cli_usage("takes one trace, but \"%s\" follows \"%s\"", argv[1], argv[0]);
	/* exactly this file, whatever the session of the program is */
	status = hl_trace_file_open_path(argv[0], &m);
	if (status)
		return status;
	status = check_names(hl_model_info(m), argv[0]);
	if (!status)
		status = hl_symbol_options_apply(&s->symbols, m, true);
	if (!status)
		status = hl_embed(m, argv[0], &s->out.file, false, &result);
	if (status) {
		hl_model_close(m);
		return status;
	}
	if (!s->out.quiet)
		print_done(&result);
	return hl_trace_file_close(
		m, &s->common, result.left_out ? "files that were skipped" : NULL);
}

static void fini_embed(void *state)
{
	hl_symbol_options_fini(&((struct embed *)state)->symbols);
}

static const struct hl_opt embed_opts[] = {
	HL_OPT_OUTPUT("NEW", "write to NEW and leave FILE unchanged"),
	HL_OPT_OVERWRITE("NEW"),
	HL_OPT_QUIET("print only files that were skipped"),
	HL_OPT_UNSAFE_DIR,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	HL_SYMBOL_OPTS,
	{0},
};

static const struct hl_example embed_examples[] = {
	{"app.hlt", "add them to app.hlt"},
	{"-o whole.hlt app.hlt", "add them to a copy"},
	{0},
};

const struct hl_cmd hl_cmd_embed = {
	.name = "embed",
	.summary = "store the program, its libraries and debug files in a trace",
	.usage = "[options] FILE",
	.examples = embed_examples,
	.about = "The trace then shows function names on any machine. record --embed-binaries does "
		 "the\n"
		 "same when the program has ended.\n",
	.opts = embed_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct embed),
	.run = run_embed,
	.fini = fini_embed,
};
