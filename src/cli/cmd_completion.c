/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_completion.c - prints the completion scripts of the shells, made from the command rows.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help/completion.h"

static const struct {
	const char *shell;
	void (*print)(FILE *out);
} shells[] = {
	{"bash", hl_completion_bash},
	{"zsh", hl_completion_zsh},
	{"fish", hl_completion_fish},
};

static const char *shell_name_at(size_t i)
{
	return i < HL_ARRAY_LEN(shells) ? shells[i].shell : NULL;
}

static int run_completion(void *state, int argc, char **argv)
{
	if (argc != 1)
		return hl_cli_usage("for which shell? bash, zsh or fish");
	for (size_t i = 0; i < HL_ARRAY_LEN(shells); i++) {
		if (strcmp(shells[i].shell, argv[0]) == 0) {
			shells[i].print(stdout);
			return HL_EXIT_OK;
		}
	}
	return hl_cli_usage("\"%s\" is not bash, zsh or fish", argv[0]);
}

static const struct hl_example completion_examples[] = {
	{"bash >heaplapse.bash", "then: source heaplapse.bash"},
	{"zsh >~/.zfunc/_heaplapse", "needs ~/.zfunc in fpath"},
	{0},
};

const struct hl_cmd hl_cmd_completion = {
	.name = "completion",
	.summary = "print a completion script for bash, zsh or fish",
	.usage = "bash|zsh|fish",
	.about = "make install installs all three. To install one for your user only:\n"
		 "  ~/.local/share/bash-completion/completions/heaplapse\n"
		 "  ~/.config/fish/completions/heaplapse.fish\n",
	.examples = completion_examples,
	.operand = HL_OPERAND_WORD,
	.word_at = shell_name_at,
	.run = run_completion,
};
