/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_log.h - the recorder's log, `record --log-level`. Only cold paths may call it.
 *
 * The file is opened and closed for each line, so the program has no additional descriptor. Without
 * a file the log goes to stderr. A line that cannot be written is left out.
 */
#ifndef HL_RECORD_SESSION_DEBUG_LOG_H
#define HL_RECORD_SESSION_DEBUG_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/attr.h"
#include "base/log_level.h"

extern uint32_t hl_debug_log_level; /* 0, HL_LEVEL_OFF, until hl_debug_log_begin() */

/* The collector has created the file; "": stderr. The path is copied. */
void hl_debug_log_begin(uint32_t level, const char *path);

/* Writes one line by one call, without causing SIGPIPE or SIGXFSZ in the program. */
void hl_debug_log_write(long fd, const struct iovec *line, size_t n);

void hl_debug_log_line(enum hl_level level, const char *what, uint64_t number);

/* Logs one line: process and thread, what, a number. */
hl_inline void hl_debug_log(enum hl_level level, const char *what, uint64_t number)
{
	if (hl_unlikely(hl_debug_log_level >= (uint32_t)level))
		hl_debug_log_line(level, what, number);
}

#endif
