/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_options.h - the options of `record`. The same rows are also read from HEAPLAPSE_*
 * variables in the environment of a program that runs under a bare LD_PRELOAD.
 */
#ifndef HL_CLI_RECORD_RECORD_OPTIONS_H
#define HL_CLI_RECORD_RECORD_OPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include "cli/cli.h"
#include "collect/drain/region.h"

struct record_options {
	struct hl_collect_settings collect;
	const char *output; /* NULL: the default pattern */
	bool tags_output;   /* mode tags, and the counters are written to `output` */
	bool overwrite, quiet, summary, verbose;
	bool log_level_given;
	bool toggles_from_env; /* the toggle signals come from the environment: an option replaces
				  them */
	bool force; /* run a program that cannot be recorded; write where other users may change
		       files */
	bool exit_wait_given; /* otherwise the default depends on how the collector was started */
	char only[1024], skip[1024]; /* lists of patterns for names of programs */
	bool only_from_env, skip_from_env;
	bool embed;              /* embed the program and its libraries in the traces */
	bool gdb;                /* run the program under gdb */
	const char *gdb_options; /* options for gdb; NULL: none */
	const char *env_problem; /* a sentence about an invalid HEAPLAPSE_* variable; NULL: none */
	uint32_t given;          /* bit mask of the options given that some modes refuse; see
				    hl_record_note_option() */
};

extern const struct hl_opt hl_record_opts[];

#define HL_RECORD_PATTERN      "heaplapse.%e.%p.hlt"
#define HL_RECORD_EXIT_WAIT_MS 2000 /* under a bare LD_PRELOAD */
#define HL_RECORD_TAGS         "heaplapse.tags.%p.json"

/* Sets the values before any option: the defaults, and HEAPLAPSE_FOO_BAR for --foo-bar. */
void hl_record_init(void *options);
/* Writes HEAPLAPSE_FOO_BAR for "foo-bar". */
void hl_record_env_name(char *to, size_t n, const char *long_name);
/* hl_record_note_option is hl_cmd.option_stored and notes the given options.
 * hl_record_check_conflicts checks whether they apply to the mode; it returns 0, or prints a
 * message and returns an exit status. */
void hl_record_note_option(void *options, const struct hl_opt *o);
int hl_record_check_conflicts(const struct record_options *o);

#endif
