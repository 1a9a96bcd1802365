/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_text.h - formats events as lines of text, as docs/trace-format.md defines them. Pure
 * functions.
 *
 * The result is one line of printable ASCII for any text that a program has used.
 */
#ifndef HL_TRACE_READ_EVENT_TEXT_H
#define HL_TRACE_READ_EVENT_TEXT_H

#include <stddef.h>

#include "trace/event.h"

/* Enough for the line of any event, and of any side event without its text. */
#define HL_EVENT_TEXT_MAX 256

/* The roles that events refer to, as from hl_reader_roles. */
struct hl_roles {
	const struct hl_role *list;
	uint32_t n;
};

/* Write a NUL-terminated line without newline. Return its length; if that is not below n, the line
 * was truncated, as with snprintf. */
int hl_event_text_event(
	char *buf, size_t n, const struct hl_event *event, const struct hl_roles *roles);
int hl_event_text_extra(
	char *buf, size_t n, const struct hl_extra *extra, const struct hl_roles *roles);

/* "malloc", "free" ...; NULL for a number that this version does not know. */
const char *hl_func_name(unsigned func);
/* "mark", "snapshot" ...; NULL for a number that this version does not know. */
const char *hl_extra_name(unsigned kind);

#endif
