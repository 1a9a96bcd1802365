/*
 * log.h - the recorder's log, `record --log-level`. Only cold paths may call it.
 *
 * The file is opened for each line and closed again: no descriptor stays in the program. Without a
 * file the log goes to stderr. A line that cannot be written is left out.
 */
#ifndef HL_RECORD_LOG_H
#define HL_RECORD_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/attr.h"
#include "base/level.h"

extern uint32_t hl_log_level; /* 0, HL_LEVEL_OFF, until hl_log_begin() */

/* The collector has made the file; "": stderr. The path is copied. */
void hl_log_begin(uint32_t level, const char *path);

/* One line in one piece, without SIGPIPE and SIGXFSZ for the program. */
void hl_log_write(long fd, const struct iovec *line, size_t n);

void hl_log_line(enum hl_level level, const char *what, uint64_t number);

/* One line: who, what, a number. */
hl_inline void hl_log(enum hl_level level, const char *what, uint64_t number)
{
	if (hl_unlikely(hl_log_level >= (uint32_t)level))
		hl_log_line(level, what, number);
}

#endif
