/*
 * record_options.h - the options of `record`, which are also HEAPLAPSE_* in the environment of a
 * program that runs under a bare LD_PRELOAD: one set of rows for both.
 */
#ifndef HL_CLI_RECORD_OPTIONS_H
#define HL_CLI_RECORD_OPTIONS_H

#include <limits.h>
#include <stdbool.h>

#include "cli/cli.h"
#include "collect/region.h"

struct record_options {
	struct hl_collect_settings collect;
	const char *output; /* NULL: the default pattern */
	bool tags_output;   /* mode tags, and `output` is where the counters go */
	bool overwrite, quiet, summary, verbose;
	bool log_level_given;
	bool toggles_of_env; /* the toggle signals are the environment's: an option replaces them */
	bool force;          /* run what cannot be recorded, write where others may */
	bool exit_wait_given; /* else the default of this way to start a collector */
	bool embed;          /* the traces carry the program and its libraries */
	bool gdb;            /* run the program under gdb ... */
	const char *gdb_options; /* ... with these; NULL: none */
	const char *env_problem; /* a bad HEAPLAPSE_* variable, in a sentence */
	uint32_t given;          /* of the options that not every mode has: hl_record_taken() */
};

extern const struct hl_opt hl_record_opts[];

#define HL_RECORD_PATTERN      "heaplapse.%e.%p.hlt"
#define HL_RECORD_EXIT_WAIT_MS 2000 /* under a bare LD_PRELOAD */
#define HL_RECORD_TAGS         "heaplapse.tags.%p.json"

/* What holds before any option: the defaults, and HEAPLAPSE_FOO_BAR for --foo-bar. */
void hl_record_init(void *options);
/* HEAPLAPSE_FOO_BAR for "foo-bar". */
void hl_record_env_name(char *to, size_t n, const char *long_name);
/* hl_cmd.taken; and do all that were given fit the mode? 0, or an exit status with a message. */
void hl_record_taken(void *options, const struct hl_opt *o);
int hl_record_fits(const struct record_options *o);
/* --churn-log: before the collector starts; and could FILE be written? 0 or -errno. */
void hl_churn_log_prepare(struct record_options *o);
int hl_churn_log_check(const struct record_options *o, const char *program);
/* Its error in words. */
const char *hl_churn_log_why(int err);
/* Could --log-file be written? 0, or -errno with a sentence in buf. how: "--log-file" or the name
 * of the variable. */
int hl_log_file_check(char *buf, size_t n, const struct record_options *o, const char *program,
	uint64_t pid, const char *how);
/* Does the collector need our stderr, for its log? */
bool hl_log_to_stderr(const struct record_options *o);
/* hl_output_settings.follow */
int hl_churn_log_start(
	const struct hl_output_settings *s, const struct hl_meta *meta, const char *trace);
/*
 * Mode tags: -o is the name of the JSON that the program writes, unless --stats-json gives another.
 * Sets HEAPLAPSE_STATS_JSON; only %p is still to be replaced in it, by the pid of each process. 0,
 * -EINVAL for a bad pattern, -ENAMETOOLONG or -ENOMEM.
 */
int hl_record_name_tags(const struct record_options *o, const char *program);
/* Will a file be made by the name of -o, or its default? */
bool hl_record_uses_output(const struct record_options *o);
/* After all options: the folder of the output is opened. 0 or -errno. */
int hl_record_settle(struct record_options *o);
/* Why no trace can be written, and what to do, in one sentence. err: hl_output_check's; how: what
 * the name is given by, "-o". */
void hl_record_no_output(
	char *buf, size_t n, const struct record_options *o, int err, const char *how);
#define HL_RECORD_SENTENCE (PATH_MAX + 256)

#endif
