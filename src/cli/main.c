/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - finds the command and runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor/program.h"
#include "cli/help/help.h"
#include "cli/options/foreign_names.h"
#include "util/large_stack.h"
#include "util/terminal/pager.h"
#include "util/terminal/progress.h"

#define STACK_BYTES (1u << 20) /* enough for every command */

#define HL_COMMAND(name) extern const struct hl_cmd hl_cmd_##name;
#include "cli/commands.inc"
#undef HL_COMMAND

#define HL_COMMAND(name) &hl_cmd_##name,
const struct hl_cmd *const hl_commands[] = {
#include "cli/commands.inc"
	NULL};
#undef HL_COMMAND

const struct hl_cmd *hl_command_find(const char *name)
{
	for (size_t i = 0; hl_commands[i]; i++) {
		if (strcmp(hl_commands[i]->name, name) == 0)
			return hl_commands[i];
	}
	return NULL;
}

static const char *command_name_at(const void *from, size_t i)
{
	(void)from;
	for (size_t k = 0; hl_commands[k]; k++) {
		if (!hl_commands[k]->hidden && i-- == 0)
			return hl_commands[k]->name;
	}
	return NULL;
}

/* Whether there is a program of that name, which the user may want to record. */
static bool is_program(const char *word)
{
	struct target *t = calloc(1, sizeof(*t));
	bool found = t && hl_program_find(word, t) == 0;

	if (t)
		hl_program_fini(t);
	free(t);
	return found;
}

int hl_command_reject_foreign(const char *word)
{
	const struct hl_foreign_name *known =
		hl_foreign_name_find("heaplapse", word, strcspn(word, "="));
	const char *what = word[0] == '-' ? "option" : "command";
	char try[512];
	int len;

	if (!known)
		return 0;
	len = snprintf(try, sizeof(try), "  try: %s\n", known->command);
	if (word[0] != '-' && is_program(word))
		snprintf(try + len, sizeof(try) - (size_t)len,
			"  to record the program %s: heaplapse record %s\n", word, word);
	return hl_cli_usage_try(try, "unknown %s \"%s\": %s", what, word, known->hint);
}

static int reject_command(const char *word)
{
	int status = hl_command_reject_foreign(word);
	const char *suggestion;

	if (status)
		return status;
	suggestion = hl_suggest(word, command_name_at, NULL);
	if (suggestion)
		return hl_cli_usage("unknown command \"%s\"; did you mean %s?", word, suggestion);
	if (word[0] == '-')
		return hl_cli_usage("unknown option %s", word);
	return hl_cli_usage(
		"unknown command \"%s\"; to record a program of that name: heaplapse record %s",
		word, word);
}

static int run_command(const struct hl_cmd *cmd, int argc, char **argv)
{
	void *state = calloc(1, cmd->state_size ? cmd->state_size : 1);
	char **operands;
	enum hl_help help;
	int n, status;

	if (!state) {
		hl_cli_error("out of memory");
		return HL_EXIT_IO;
	}
	hl_command_current = cmd;
	if (cmd->init)
		cmd->init(state);
	status = hl_options_parse(cmd, state, argc, argv, &n, &operands, &help);
	if (help == HL_HELP_FULL || (!status && cmd->shared))
		hl_pager_start();
	if (help == HL_HELP_SHORT)
		hl_help_short(cmd);
	else if (help)
		hl_help_full(cmd);
	else if (!status)
		status = cmd->run(state, n, operands);
	if (cmd->fini)
		cmd->fini(state);
	free(state);
	return status;
}

/*
 * Opens /dev/null for each standard descriptor that the caller closed. Otherwise a file that we
 * open could become descriptor 1 and receive our output. Read-only and close-on-exec: writing still
 * fails, and children see the descriptor closed.
 */
static void occupy_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open("/dev/null", O_RDONLY | O_CLOEXEC) != fd)
			_exit(HL_EXIT_IO);
	}
}

static int print_first_steps(void)
{
	fputs("heaplapse records every allocation of a program and shows its heap at any moment.\n"
	      "\n"
	      "  heaplapse record ./program    run it and write heaplapse.program.PID.hlt\n"
	      "  heaplapse report              show the overview of the newest trace\n"
	      "\n"
	      "heaplapse help lists all commands.\n",
		stderr);
	return HL_EXIT_USAGE;
}

static int run_tool(int argc, char **argv)
{
	const struct hl_cmd *cmd;
	const char *word;
	int status;

	occupy_standard_fds();
	setlocale(LC_CTYPE, "");
	if (argc < 2)
		return print_first_steps();
	hl_progress_enable();
	word = argv[1];
	if (strcmp(word, "-h") == 0) {
		hl_help_short(NULL);
		return hl_cli_finish(HL_EXIT_OK);
	}
	if (strcmp(word, "--help") == 0)
		word = "help";
	else if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
		word = "version";
	cmd = hl_command_find(word);
	status = cmd ? run_command(cmd, argc - 1, argv + 1) : reject_command(word);
	return hl_cli_finish(status);
}

int main(int argc, char **argv)
{
	return hl_large_stack_run(STACK_BYTES, run_tool, argc, argv);
}
