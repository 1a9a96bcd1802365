/*
 * symbol_options.h - where names come from and how they are shown: options of all commands that
 * show them.
 *
 * A command takes HL_SYMBOL_OPTS into its rows, begins its state with the two members of
 * struct hl_symbol_state, and calls hl_symbol_options_apply when it has opened its trace.
 */
#ifndef HL_CLI_SYMBOL_OPTIONS_H
#define HL_CLI_SYMBOL_OPTIONS_H

#include <stddef.h>

#include "cli/trace_file.h"
#include "util/vec.h"

struct hl_symbol_options {
	HL_VEC(const char *) paths; /* --symbols */
	const char *sysroot;
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
	{0, "symbols", "PATH", "look in PATH first for programs and debug files (may be repeated)", \
		hl_set_symbols}, \
	{0, "sysroot", "DIR", "the paths of the program's files begin at DIR", hl_set_sysroot}, \
	{0, "debuginfod", HL_DEBUGINFOD_VALUES, "fetch debug files from DEBUGINFOD_URLS if that is set (yes)", \
		hl_set_debuginfod}, \
	{0, "full-names", NULL, "do not shorten template arguments in names", hl_set_full_names}
/* clang-format on */

/* For each trace, before anything is asked of it. Names are in full for programs (json), whatever
 * the options say. 0, or an exit status. */
int hl_symbol_options_apply(struct hl_symbol_options *o, struct hl_model *m, bool json);
void hl_symbol_options_fini(struct hl_symbol_options *o);

#endif
