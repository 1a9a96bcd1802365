/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - see terminal.h. */
#include "util/terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_env_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* CLICOLOR_FORCE=0 means off. */
static bool is_env_on(const char *name)
{
	return is_env_set(name) && strcmp(getenv(name), "0") != 0;
}

bool hl_term_colors(int fd, enum hl_color_when when)
{
	const char *term = getenv("TERM");

	if (when != HL_COLOR_AUTO)
		return when == HL_COLOR_ALWAYS;
	if (is_env_set("NO_COLOR"))
		return false;
	if (is_env_on("CLICOLOR_FORCE") || is_env_on("FORCE_COLOR"))
		return true;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

const char *hl_style_sequence(enum hl_style style)
{
	static const char *const sequences[] = {
		[HL_STYLE_PLAIN] = "\033[0m",
		[HL_STYLE_BOLD] = "\033[1m",
		[HL_STYLE_DIM] = "\033[2m",
		[HL_STYLE_RED] = "\033[31m",
		[HL_STYLE_GREEN] = "\033[32m",
		[HL_STYLE_YELLOW] = "\033[33m",
		[HL_STYLE_BLUE] = "\033[34m",
		[HL_STYLE_CYAN] = "\033[36m",
	};

	return sequences[style];
}

/* Upper limit for COLUMNS and LINES. env_number returns 0 if the variable is not a whole number. */
#define SCREEN_MAX 10000

static unsigned env_number(const char *name)
{
	const char *value = getenv(name);
	char *end;
	unsigned long n;

	if (!value || *value < '0' || *value > '9')
		return 0;
	n = strtoul(value, &end, 10);
	return *end ? 0 : n > SCREEN_MAX ? SCREEN_MAX : (unsigned)n;
}

unsigned hl_term_width(int fd)
{
	unsigned n = env_number("COLUMNS");
	struct winsize size;

	if (n > 0)
		return n;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

unsigned hl_term_height(int fd)
{
	struct winsize size;
	unsigned n;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		return 0;
	n = env_number("LINES");
	/* A terminal that does not know its size (a serial line): 24 lines, as the VT100. */
	return n > 0 ? n : size.ws_row > 0 ? size.ws_row : 24;
}
