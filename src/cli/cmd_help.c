/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_help.c - lists the commands and explains each. All text comes from the command rows.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help/help.h"

#define TOPIC "environment"

struct help_state {
	bool scdoc;
};

#define FORMAT_VALUES "text|scdoc"

static const char *set_format(void *state, const char *value)
{
	struct help_state *s = state;
	int i = hl_word_find(FORMAT_VALUES, value);

	s->scdoc = i == 1;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

/* The names of the commands, then the topic. */
static const char *word_at(size_t i)
{
	for (size_t k = 0; hl_commands[k]; k++) {
		if (!hl_commands[k]->hidden && i-- == 0)
			return hl_commands[k]->name;
	}
	return i == 0 ? TOPIC : NULL;
}

static const char *suggestion_at(const void *from, size_t i)
{
	return word_at(i);
}

static int reject_command(const char *word)
{
	int status = hl_command_reject_foreign(word);
	const char *near;

	if (status)
		return status;
	near = hl_suggest(word, suggestion_at, NULL);
	if (near)
		return hl_cli_usage("unknown command \"%s\"; did you mean %s?", word, near);
	return hl_cli_usage("unknown command \"%s\"", word);
}

static int run_help(void *state, int argc, char **argv)
{
	const struct hl_cmd *cmd = argc > 0 ? hl_command_find(argv[0]) : NULL;
	struct help_state *s = state;

	if (argc > 1)
		return hl_cli_usage(
			"explains one command, but \"%s\" follows \"%s\"", argv[1], argv[0]);
	if (argc > 0 && strcmp(argv[0], TOPIC) == 0)
		hl_help_environment();
	else if (argc > 0 && !cmd)
		return reject_command(argv[0]);
	else if (s->scdoc)
		hl_help_scdoc(cmd);
	else
		hl_help_full(cmd);
	return HL_EXIT_OK;
}

static const struct hl_example help_examples[] = {
	{"report", "the complete help of heaplapse report"},
	{TOPIC, "the environment variables"},
	{0},
};

static const struct hl_opt help_opts[] = {
	{0, "format", FORMAT_VALUES, "scdoc: print the source of a manual page", set_format},
	{0},
};

const struct hl_cmd hl_cmd_help = {
	.name = "help",
	.summary = "list the commands, or show the help of one",
	.usage = "[COMMAND | environment]",
	.examples = help_examples,
	.opts = help_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_WORD,
	.word_at = word_at,
	.state_size = sizeof(struct help_state),
	.run = run_help,
};
