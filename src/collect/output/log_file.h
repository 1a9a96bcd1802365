/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_file.h - the log of a region, `record --log-level`: lines of the collector, in a file that
 * the recorder appends to as well.
 *
 * The file is created when the region is opened, readable only by its owner, and is opened again
 * for each line: no descriptor is held. Any thread may log.
 */
#ifndef HL_COLLECT_OUTPUT_LOG_FILE_H
#define HL_COLLECT_OUTPUT_LOG_FILE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/log_level.h"
#include "collect/output/trace_output.h"

struct hl_log_file {
	enum hl_level level;
	char path[HL_LOG_PATH_MAX]; /* absolute; "": stderr */
};

/* The settings of `record`. */
struct hl_log_file_settings {
	enum hl_level level;
	const char *pattern; /* as for a trace, without %n; NULL: stderr */
};

/* Creates the log file of this program, or uses an existing one, if it is a regular file of the
 * same user. Returns 0; on -errno, which may be that of hl_trace_output_dir(), nothing is
 * logged. */
int hl_log_file_open(struct hl_log_file *log, const struct hl_log_file_settings *set,
	const struct hl_trace_output_settings *out, const char *program, uint64_t pid);

/* Checks whether the file could be created. 0 or -errno; leaves no new file. */
int hl_log_file_check(const struct hl_log_file_settings *set,
	const struct hl_trace_output_settings *out, const char *program, uint64_t pid);

/* Writes one line. log may be NULL: nothing is written. */
void hl_log_file_write(const struct hl_log_file *log, enum hl_level level, const char *format, ...)
	hl_printf(3, 4);

#endif
