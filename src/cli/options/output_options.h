/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_options.h - options of commands that write a trace.
 *
 * The state of such a command has the member `out`, a struct hl_output_options. HL_OUTPUT_SETTERS
 * defines the setters of its rows, because `out` is not at the same offset in all of them.
 */
#ifndef HL_CLI_OPTIONS_OUTPUT_OPTIONS_H
#define HL_CLI_OPTIONS_OUTPUT_OPTIONS_H

#include <stddef.h>

#include "cli/cli.h"
#include "cli/files/atomic_file.h"

struct hl_output_options {
	struct hl_atomic_file file;
	bool quiet;
};

static inline const char *hl_output_set_path(struct hl_output_options *o, const char *path)
{
	o->file.path = path;
	return hl_atomic_file_check_name(path);
}

static inline const char *hl_output_set_flag(bool *flag)
{
	*flag = true;
	return NULL;
}

/* clang-format off */
#define HL_OUTPUT_SETTERS(type) \
	static const char *set_output(void *state, const char *value) \
	{ \
		return hl_output_set_path(&((type *)state)->out, value); \
	} \
	static const char *set_overwrite(void *state, const char *value) \
	{ \
		return hl_output_set_flag(&((type *)state)->out.file.overwrite); \
	} \
	static const char *set_force(void *state, const char *value) \
	{ \
		return hl_output_set_flag(&((type *)state)->out.file.allow_unsafe_dir); \
	} \
	static const char *set_quiet(void *state, const char *value) \
	{ \
		return hl_output_set_flag(&((type *)state)->out.quiet); \
	} \
	_Static_assert(sizeof(((type *)0)->out) == sizeof(struct hl_output_options), \
		"the state has the options in its member out")

/* `name` is the argument of -o in the help. */
#define HL_OPT_OUTPUT(name, help) {'o', "output", name, help, set_output}
#define HL_OPT_OVERWRITE(name) \
	{'f', "overwrite", NULL, "replace " name " if it exists", set_overwrite}
#define HL_OPT_QUIET(help) {'q', "quiet", NULL, help, set_quiet}
#define HL_OPT_UNSAFE_DIR \
	{0, "force", NULL, "allow writing to a world-writable directory", set_force}
/* clang-format on */

#endif
