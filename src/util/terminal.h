/*
 * terminal.h - what the place that we print to can show: colours, width, height.
 *
 * Asked by descriptor, because stdout and stderr often lead to different places.
 */
#ifndef HL_UTIL_TERMINAL_H
#define HL_UTIL_TERMINAL_H

#include <stdbool.h>

enum hl_color_when {
	HL_COLOR_AUTO, /* on terminals; NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR and TERM=dumb count */
	HL_COLOR_ALWAYS,
	HL_COLOR_NEVER,
};
/* What --color says, for the rest of the process. */
void hl_term_color_set(enum hl_color_when when);
bool hl_term_colors(int fd);

/* Sixteen colours only: those that every scheme, light or dark, chose to be readable. */
enum hl_style {
	HL_STYLE_PLAIN, /* ends the others */
	HL_STYLE_BOLD,
	HL_STYLE_DIM,
	HL_STYLE_RED,
	HL_STYLE_GREEN,
	HL_STYLE_YELLOW,
	HL_STYLE_BLUE,
	HL_STYLE_CYAN,
};
/* The sequence that switches to the style; hl_term_style: "" where there are no colours. */
const char *hl_style_sequence(enum hl_style style);
const char *hl_term_style(int fd, enum hl_style style);

/* Columns: COLUMNS if it is set, else the terminal's; 0 when neither says, so without limit. */
unsigned hl_term_width(int fd);
/* Lines of the terminal; 0 when it is none. */
unsigned hl_term_height(int fd);

#endif
