/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_level.h - log levels: the names for `record --log-level` and the label of each level in a log
 * line.
 */
#ifndef HL_BASE_LOG_LEVEL_H
#define HL_BASE_LOG_LEVEL_H

#include <stdint.h>

enum hl_level {
	HL_LEVEL_OFF,
	HL_LEVEL_ERROR,
	HL_LEVEL_WARN,
	HL_LEVEL_INFO,
	HL_LEVEL_DEBUG,
	HL_LEVEL_TRACE,
};

#define HL_LEVEL_WORDS "off|error|warn|info|debug|trace"

/* The longest path of a log file, including the NUL. */
#define HL_LOG_PATH_MAX 1024u

static inline const char *hl_level_mark(enum hl_level level)
{
	static const char *const marks[] = {"---", "ERR", "WRN", "INF", "DBG", "TRC"};

	return (unsigned)level <= HL_LEVEL_TRACE ? marks[level] : marks[0];
}

#endif
