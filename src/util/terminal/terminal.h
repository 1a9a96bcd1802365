/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - colours and size of the terminal.
 *
 * All functions take a descriptor, because stdout and stderr often go to different places.
 */
#ifndef HL_UTIL_TERMINAL_TERMINAL_H
#define HL_UTIL_TERMINAL_TERMINAL_H

#include <stdbool.h>

enum hl_color_when {
	HL_COLOR_AUTO, /* on terminals; respects NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, TERM=dumb */
	HL_COLOR_ALWAYS,
	HL_COLOR_NEVER,
};
bool hl_term_colors(int fd, enum hl_color_when when);

/* Only colours of the basic 16: all terminal themes, light and dark, make these readable. */
enum hl_style {
	HL_STYLE_PLAIN, /* ends all other styles */
	HL_STYLE_BOLD,
	HL_STYLE_DIM,
	HL_STYLE_RED,
	HL_STYLE_GREEN,
	HL_STYLE_YELLOW,
	HL_STYLE_BLUE,
	HL_STYLE_CYAN,
};
/* The escape sequence that switches to the style. */
const char *hl_style_sequence(enum hl_style style);

/* COLUMNS if it is set, else the width of the terminal. 0: unknown, so there is no limit. */
unsigned hl_term_width(int fd);
/* Lines of the terminal; 0 if fd is not a terminal. */
unsigned hl_term_height(int fd);

#endif
