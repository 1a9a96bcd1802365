/*
 * dump.h - events as lines of text, as docs/trace-format.md defines them. Pure functions.
 *
 * Whatever a program put into its labels, a line is one line of printable ASCII.
 */
#ifndef HL_TRACE_DUMP_H
#define HL_TRACE_DUMP_H

#include <stddef.h>

#include "trace/event.h"

/* Room for any event's line, and for any extra's without its text. */
#define HL_DUMP_LINE 256

/* What events call their threads, as hl_reader_roles has it. */
struct hl_roles {
	const struct hl_role *list;
	uint32_t n;
};

/*
 * The line without a newline, ended by NUL. Returns its length; when that is not below n, the
 * line was cut to fit, as with snprintf.
 */
int hl_dump_event(char *buf, size_t n, const struct hl_event *event, const struct hl_roles *roles);
int hl_dump_extra(char *buf, size_t n, const struct hl_extra *extra, const struct hl_roles *roles);

/* "malloc", "free" ...; NULL for a number that this version does not know. */
const char *hl_func_name(unsigned func);
/* "mark", "snapshot" ...; NULL likewise. */
const char *hl_extra_name(unsigned kind);

#endif
