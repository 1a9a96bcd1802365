/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_options.h - options for the sources and the display of symbol names, for all commands that
 * print names.
 *
 * A command has HL_SYMBOL_OPTS in its rows, begins its state with the two members of struct
 * hl_symbol_state, and calls hl_symbol_options_apply when it has opened its trace.
 */
#ifndef HL_CLI_OPTIONS_SYMBOL_OPTIONS_H
#define HL_CLI_OPTIONS_SYMBOL_OPTIONS_H

#include <stddef.h>

#include "cli/files/trace_file.h"
#include "symbol/source_file.h"
#include "util/vec.h"

struct hl_symbol_options {
	HL_VEC(const char *) paths; /* --symbols */
	const char *sysroot;
	HL_VEC(const char *) roots; /* --source-root */
	struct hl_source_places sources;
	bool no_debuginfod, full_names;
};

struct hl_symbol_state {
	struct hl_trace_opts common;
	struct hl_symbol_options symbols;
};
#define HL_SYMBOL_STATE_CHECK(type)                                                          \
	_Static_assert(offsetof(type, symbols) == offsetof(struct hl_symbol_state, symbols), \
		"the setters find the options behind hl_trace_opts")

const char *hl_set_symbols(void *state, const char *value);
const char *hl_set_sysroot(void *state, const char *value);
const char *hl_set_debuginfod(void *state, const char *value);
const char *hl_set_full_names(void *state, const char *value);
#define HL_DEBUGINFOD_VALUES "yes|no"
/* clang-format off */
#define HL_SYMBOL_OPTS \
	{0, "symbols", "PATH", "look in PATH first for programs and debug files; may be repeated", \
		hl_set_symbols}, \
	{0, "sysroot", "DIR", "look for the program's files below DIR", hl_set_sysroot}, \
	{0, "debuginfod", HL_DEBUGINFOD_VALUES, "fetch debug files from DEBUGINFOD_URLS if that is set (default yes)", \
		hl_set_debuginfod}, \
	{0, "full-names", NULL, "do not shorten template arguments in names", hl_set_full_names}
/* clang-format on */

/* For commands that show source files. */
const char *hl_add_source_root(void *state, const char *value);
#define HL_SOURCE_OPT                                                                            \
	{                                                                                        \
		0, "source-root", "OLD=NEW|DIR",                                                 \
			"find source files of OLD below NEW, or all below DIR; may be repeated", \
			hl_add_source_root                                                       \
	}

/* Must be called for each trace before any query. In JSON, names are always in full. Returns 0 or
 * an exit status. */
int hl_symbol_options_apply(struct hl_symbol_options *o, struct hl_model *m, bool json);
void hl_symbol_options_fini(struct hl_symbol_options *o);

#endif
