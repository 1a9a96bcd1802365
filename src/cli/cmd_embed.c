/*
 * cmd_embed.c - the program, its libraries and their debug files, kept in the trace.
 */
#include <stdio.h>
#include <string.h>

#include "cli/embed.h"
#include "cli/symbol_options.h"
#include "util/text.h"

struct embed {
	struct hl_trace_opts common; /* these two first */
	struct hl_symbol_options symbols;
	struct hl_new_file out;
	bool quiet;
};
HL_SYMBOL_STATE_CHECK(struct embed);

static const char *set_output(void *state, const char *value)
{
	((struct embed *)state)->out.path = value;
	return hl_new_file_wrong_name(value);
}

static const char *set_overwrite(void *state, const char *value)
{
	((struct embed *)state)->out.overwrite = true;
	return NULL;
}

static const char *set_force(void *state, const char *value)
{
	((struct embed *)state)->out.anywhere = true;
	return NULL;
}

static const char *set_quiet(void *state, const char *value)
{
	((struct embed *)state)->quiet = true;
	return NULL;
}

static void say_done(const struct hl_embed_result *r)
{
	char n[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];

	if (r->done.files == 0)
		hl_cli_error("nothing new to embed");
	else
		hl_cli_error("embedded %s file%s of %s", hl_text_count(n, r->done.files),
			r->done.files == 1 ? "" : "s", hl_text_bytes(bytes, r->done.bytes));
}

/* 0, or an exit status with a message: names that are not from files need none. */
static int check_names(const struct hl_trace_info *info, const char *path)
{
	if (info->meta.cut.flags & HL_CUT_NAMES)
		hl_cli_error("%s has made-up names: its files would tell the true ones", path);
	else if (info->meta.source[0])
		hl_cli_error("%s was imported from %s, and all its names are in it: no file would "
			     "be looked at",
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

	/* It changes what it is given, so it takes nothing by itself. */
	if (argc == 0)
		return hl_cli_usage("which trace? for example: heaplapse embed app.hlt");
	status = hl_trace_file_open(argc, argv, &m);
	if (status)
		return status;
	status = check_names(hl_model_info(m), argv[0]);
	if (!status)
		status = hl_symbol_options_apply(&s->symbols, m, true);
	if (!status)
		status = hl_embed(m, argv[0], &s->out, false, &result);
	if (status) {
		hl_model_close(m);
		return status;
	}
	if (!s->quiet)
		say_done(&result);
	return hl_trace_file_close(
		m, &s->common, result.left_out ? "files that are left out" : NULL);
}

static void fini_embed(void *state)
{
	hl_symbol_options_fini(&((struct embed *)state)->symbols);
}

static const struct hl_opt embed_opts[] = {
	{'o', "output", "NEW", "write to NEW, and leave FILE as it is", set_output},
	{'f', "overwrite", NULL, "replace NEW if it exists", set_overwrite},
	{'q', "quiet", NULL, "say only what is left out", set_quiet},
	{0, "force", NULL, "write also into a folder that everybody may change", set_force},
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	HL_SYMBOL_OPTS,
	{0},
};

static const struct hl_example embed_examples[] = {
	{"app.hlt", "put them into app.hlt"},
	{"-o whole.hlt app.hlt", "into a copy of it"},
	{0},
};

const struct hl_cmd hl_cmd_embed = {
	.name = "embed",
	.summary = "keep the program, its libraries and debug files in a trace",
	.usage = "[options] FILE",
	.examples = embed_examples,
	.about = "The trace then has its names wherever it is taken. record --embed-binaries does "
		 "the\n"
		 "same when the program has ended.\n",
	.opts = embed_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct embed),
	.run = run_embed,
	.fini = fini_embed,
};
