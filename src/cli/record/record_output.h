/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_output.h - the files that `record` writes: the trace, the log, the churn log and the
 * counters of tags. Their names, whether they can be written, and the messages if not.
 */
#ifndef HL_CLI_RECORD_RECORD_OUTPUT_H
#define HL_CLI_RECORD_RECORD_OUTPUT_H

#include "cli/record/record_options.h"

/* --churn-log. prepare is called before the collector starts. check returns 0 if FILE can be
 * written, or -errno. */
void hl_churn_log_prepare(struct record_options *o);
int hl_churn_log_check(const struct record_options *o, const char *program);
/* Returns the text for an error of --churn-log. */
const char *hl_churn_log_error_text(int err);
/* Checks whether --log-file can be written. Returns 0, or -errno with a sentence in buf. how:
 * "--log-file" or the name of the variable. */
int hl_record_check_log_file(char *buf, size_t n, const struct record_options *o,
	const char *program, uint64_t pid, const char *how);
/* Returns whether the collector needs our stderr for its log. */
bool hl_log_to_stderr(const struct record_options *o);
/* hl_trace_output_settings.follow */
int hl_churn_log_start(
	const struct hl_trace_output_settings *s, const struct hl_meta *meta, const char *trace);
/*
 * Mode tags: -o is the name of the JSON file that the program writes, unless --stats-json is given.
 * Sets HEAPLAPSE_STATS_JSON, expanded except for %p, which each process replaces by its pid.
 * Returns 0, -EINVAL for an invalid pattern, -ENAMETOOLONG or -ENOMEM.
 */
int hl_record_set_tags_output(const struct record_options *o, const char *program);
/* Returns whether a file with the name of -o, or of its default, will be written. */
bool hl_record_uses_output(const struct record_options *o);
/* Called after all options: opens the current directory for relative names. Returns 0 or -errno. */
int hl_record_finish_options(struct record_options *o);
/* Writes a sentence to buf: why the trace cannot be written, and advice. err: from
 * hl_trace_output_check; how: the option for the name, "-o". */
void hl_record_format_output_error(
	char *buf, size_t n, const struct record_options *o, int err, const char *how);
/* Prints that sentence for -o. */
void hl_record_print_output_error(const struct record_options *o, int err);
#define HL_RECORD_SENTENCE (PATH_MAX + 256)
/* Why the directory of a session cannot be used; err: of HL_MESSAGE_NO_SESSION. */
const char *hl_record_session_error(int err);
/* Returns advice to append to the text of an error, or "". */
const char *hl_record_error_advice(int err);

#endif
