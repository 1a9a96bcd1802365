/*
 * cmd_help.c - what there is, and how each command is used. All of it comes from the rows.
 */
#include <stdio.h>

#include "cli/cli.h"

void hl_commands_help(void)
{
	puts("usage: heaplapse COMMAND [options] ...\n"
	     "records every allocation of a program and shows its heap at any moment\n");
	for (size_t i = 0; hl_commands[i]; i++) {
		if (!hl_commands[i]->hidden)
			printf("  %-12s%s\n", hl_commands[i]->name, hl_commands[i]->summary);
	}
	puts("\n"
	     "First:  heaplapse record ./program\n"
	     "Then:   heaplapse report FILE.hlt\n"
	     "More:   heaplapse help COMMAND\n\n"
	     "Exit status: 0 fine, 2 wrong usage, 3 input unreadable or output not writable,\n"
	     "4 with --strict when something was missing.");
}

static int run_help(void *state, int argc, char **argv)
{
	const struct hl_cmd *cmd;

	if (argc == 0) {
		hl_commands_help();
		return HL_EXIT_OK;
	}
	cmd = hl_command_find(argv[0]);
	if (!cmd)
		return hl_cli_usage("there is no command \"%s\"", argv[0]);
	hl_options_help(cmd);
	return HL_EXIT_OK;
}

const struct hl_cmd hl_cmd_help = {
	.name = "help",
	.summary = "list the commands, or explain one",
	.usage = "[COMMAND]",
	.run = run_help,
};
