/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help_env.c - the variables of the environment that heaplapse reads.
 *
 * Those of record come from its option rows; the others are in the table below.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help/help.h"
#include "cli/record/record_options.h"

static const struct {
	const char *name, *value, *help;
} other_vars[] = {
	{"HEAPLAPSE_CACHE", "off",
		"do not cache function names on disk (by default in heaplapse/sym below "
		"XDG_CACHE_HOME or ~/.cache)"},
	{"HEAPLAPSE_PAGER", "COMMAND",
		"the pager, takes precedence over PAGER; empty or cat: none"},
	{"PAGER", "COMMAND", "the pager of all programs (default less -FRX)"},
	{"NO_COLOR", NULL, "no colours; --color takes precedence"},
	{"CLICOLOR_FORCE", NULL, "colours even without a terminal"},
	{"FORCE_COLOR", NULL, "the same"},
	{"COLUMNS", "N", "the width of the lines, instead of the terminal's own"},
	{"LINES", "N", "the height of the screen, for the pager"},
	{"TERM", "NAME", "dumb: neither colours nor a progress bar"},
	{"CI", NULL, "no progress bar, and serve opens no browser"},
	{"XDG_CACHE_HOME", "DIR",
		"the directory of the cache of function names (default ~/.cache)"},
	{"HOME", "DIR", "the home directory, for the default of XDG_CACHE_HOME"},
	{"DEBUGINFOD_URLS", "URLS",
		"servers for missing debug files; --debuginfod=no disables them"},
	{"DEBUGINFOD_TIMEOUT", "SECONDS", "timeout for one file"},
	{"HEAPLAPSE_SAMPLE_SEED", "N",
		"seed for record --mode=sample: the same program gets the same samples in each "
		"run, for tests"},
	{"PATH", "DIRS", "where record looks for the program, like a shell"},
	{"XDG_RUNTIME_DIR", "DIR",
		"where record creates a directory for a socket, for programs in their own network "
		"namespace; and serve a file for the browser"},
	{"TMPDIR", "DIR", "the same if XDG_RUNTIME_DIR is not set (default /tmp)"},
	{"DISPLAY", "NAME", "a desktop: serve opens the page in a browser"},
	{"WAYLAND_DISPLAY", "NAME", "the same"},
	{"SSH_CONNECTION", NULL, "the desktop is on another machine: serve opens no browser"},
	{"LD_PRELOAD", "LIBRARIES",
		"record keeps these libraries and loads them after the recorder"},
};

static bool get_other_var(size_t i, struct hl_env_row *row)
{
	if (i >= HL_ARRAY_LEN(other_vars))
		return false;
	snprintf(row->name, sizeof(row->name), "%s", other_vars[i].name);
	row->value = other_vars[i].value;
	row->help = other_vars[i].help;
	return true;
}

bool hl_env_row(size_t i, struct hl_env_row *row)
{
	for (const struct hl_opt *o = hl_record_opts; o->short_name || o->long_name; o++) {
		if (!o->help || !o->long_name || i-- > 0)
			continue;
		hl_record_env_name(row->name, sizeof(row->name), o->long_name);
		row->value = o->arg;
		row->help = o->help;
		return true;
	}
	return get_other_var(i, row);
}
