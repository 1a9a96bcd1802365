/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_version.c - prints the version of heaplapse.
 */
#include <stdio.h>

#include "cli/cli.h"

static int run_version(void *state, int argc, char **argv)
{
	if (argc > 0)
		return hl_cli_usage("takes no operand, but \"%s\" was given", argv[0]);
	puts("heaplapse " HL_VERSION);
	return HL_EXIT_OK;
}

const struct hl_cmd hl_cmd_version = {
	.name = "version",
	.summary = "print the version",
	.usage = "",
	.run = run_version,
};
