/*
 * help_env.c - the names that we read from the environment.
 *
 * Those of record come from its option rows; the few others are in the table below.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/record_options.h"

static const struct {
	const char *name, *value, *help;
} others[] = {
	{"HEAPLAPSE_CACHE", "off",
		"keeps no names of functions on disk; else they are in heaplapse/sym below "
		"XDG_CACHE_HOME or ~/.cache, for the next time"},
	{"HEAPLAPSE_PAGER", "COMMAND",
		"shows what is longer than the screen, before PAGER; empty or cat: nothing does"},
	{"PAGER", "COMMAND", "the same, for all programs (default less -FRX)"},
	{"NO_COLOR", NULL, "no colours; --color wins over it"},
	{"CLICOLOR_FORCE", NULL, "colours even where there is no terminal"},
	{"FORCE_COLOR", NULL, "the same"},
	{"COLUMNS", "N", "the width of the lines, instead of the terminal's own"},
	{"LINES", "N", "the height of the screen, for the pager"},
	{"TERM", "NAME", "dumb: neither colours nor a progress bar"},
	{"CI", NULL, "no progress bar"},
	{"XDG_CACHE_HOME", "DIR", "where names of functions are kept (default ~/.cache)"},
	{"HOME", "DIR", "where ~ is, for that"},
	{"DEBUGINFOD_URLS", "URLS",
		"servers to fetch missing debug files from; --debuginfod=no "
		"does not"},
	{"DEBUGINFOD_TIMEOUT", "SECONDS", "how long one file may take"},
	{"HEAPLAPSE_SAMPLE_SEED", "N",
		"record --mode=sample takes the same samples in each run of the same program, for "
		"tests"},
	{"PATH", "DIRS", "where record looks for the program, as a shell does"},
	{"XDG_RUNTIME_DIR", "DIR",
		"where record makes a folder for a socket, for programs in a network namespace of "
		"their own"},
	{"TMPDIR", "DIR", "the same, where that is not set (default /tmp)"},
	{"LD_PRELOAD", "LIBRARIES", "what record finds there is loaded behind the recorder"},
};

static bool other_row(size_t i, struct hl_env_row *row)
{
	if (i >= HL_ARRAY_LEN(others))
		return false;
	snprintf(row->name, sizeof(row->name), "%s", others[i].name);
	row->value = others[i].value;
	row->help = others[i].help;
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
	return other_row(i, row);
}
