/*
 * view_options.c - how results are shown: options that all commands that show some have alike.
 *
 * They hold for the whole process, so the setters do not touch the command's state.
 */
#include <string.h>

#include "cli/cli.h"
#include "util/pager.h"
#include "util/terminal.h"

static const char *set_color(void *state, const char *value)
{
	static const char *const names[] = {
		[HL_COLOR_AUTO] = "auto",
		[HL_COLOR_ALWAYS] = "always",
		[HL_COLOR_NEVER] = "never",
	};

	for (unsigned i = 0; i < HL_ARRAY_LEN(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			hl_term_color_set((enum hl_color_when)i);
			return NULL;
		}
	}
	return "always, auto or never";
}

static const char *set_no_pager(void *state, const char *value)
{
	hl_pager_forbid();
	return NULL;
}

const struct hl_opt hl_view_opts[] = {
	{0, "color", "always|auto|never",
		"colours (default auto: on a terminal, unless NO_COLOR is set)", set_color},
	{0, "no-pager", NULL, "do not start a pager when the output is longer than the screen",
		set_no_pager},
	{0},
};
