/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_row.h - the lines of the file `session`, which lists the traces of one run
 * (docs/trace-format.md, section 8).
 *
 * The file is append-only text: a first line, then one line per trace. Several collectors may
 * append at the same time. What is read is hostile: lines that are not understood are skipped.
 */
#ifndef HL_TRACE_FORMAT_SESSION_ROW_H
#define HL_TRACE_FORMAT_SESSION_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/strbuf.h"

#define HL_SESSION_SUFFIX   ".d"      /* of the directory: the name of the first trace and this */
#define HL_SESSION_LIST     "session" /* the name of the file in the directory */
#define HL_SESSION_HEADER   "heaplapse session 1\n"
#define HL_SESSION_LINE_MAX 8192u

struct hl_session_row {
	uint64_t pid, parent_pid; /* parent_pid: 0 if not known */
	uint64_t start_unix_ns;
	const char *program;
	/* The name of the trace: in the directory of the list, or after "../" beside it. NULL: in
	 * another directory. */
	const char *file;
};

/* Appends the line of a row. */
void hl_session_row_put(struct hl_strbuf *b, const struct hl_session_row *row);
/* Parses a line without its newline; the strings of the row then point into the line, which is
 * changed. False: the line is not a row. */
bool hl_session_row_parse(struct hl_session_row *row, char *line);
/* True for a name that a row may have: NAME or ../NAME, where NAME is a file of one directory. */
bool hl_session_row_is_file(const char *name);

#endif
