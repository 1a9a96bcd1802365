/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_options.c - display options that all commands with long output share.
 *
 * They apply to the streams of the process, which exist once, so the setters do not touch the
 * command's state. Only this module knows them: views receive what they need as arguments.
 */
#include "cli/cli.h"
#include "util/terminal/pager.h"
#include "util/terminal/terminal.h"

#define COLOR_VALUES "always|auto|never"

static enum hl_color_when color_when;

bool hl_cli_colors(int fd)
{
	return hl_term_colors(fd, color_when);
}

const char *hl_cli_style(int fd, enum hl_style style)
{
	return hl_cli_colors(fd) ? hl_style_sequence(style) : "";
}

static const char *set_color(void *state, const char *value)
{
	static const enum hl_color_when when[] = {HL_COLOR_ALWAYS, HL_COLOR_AUTO, HL_COLOR_NEVER};
	int i = hl_word_find(COLOR_VALUES, value);

	if (i < 0)
		return HL_OPT_NOT_LISTED;
	color_when = when[i];
	return NULL;
}

static const char *set_no_pager(void *state, const char *value)
{
	hl_pager_disable();
	return NULL;
}

const struct hl_opt hl_view_opts[] = {
	{0, "color", COLOR_VALUES,
		"use colours (default auto: on a terminal, unless NO_COLOR is set)", set_color},
	{0, "no-pager", NULL, "do not start a pager if the output is longer than the screen",
		set_no_pager},
	{0},
};
