/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_cursor.h - reads the samples of the mappings of a process, in order.
 *
 * A sample is made from the one before it, so the cursor only goes forward. A damaged sample is
 * marked in the reader and left out, with all that build on it.
 */
#ifndef HL_TRACE_READ_MAP_CURSOR_H
#define HL_TRACE_READ_MAP_CURSOR_H

#include <stdbool.h>

#include "trace/event.h"

struct hl_reader;
struct hl_map_cursor;

/* Returns 0 or -ENOMEM. The caller closes it, before the reader. */
int hl_map_cursor_open(struct hl_map_cursor **out, struct hl_reader *r);
void hl_map_cursor_close(struct hl_map_cursor *c);
/* Sets *sample to the next sample, which is valid until the next call, or to NULL after the last
 * one. Names are valid until the cursor is closed, and the same name has the same address. Returns
 * 0 or -ENOMEM. */
int hl_map_cursor_next(struct hl_map_cursor *c, const struct hl_map_sample **sample);
/* How much of the trace was read: done of *all. */
size_t hl_map_cursor_progress(const struct hl_map_cursor *c, size_t *all);
/* True if a sample could not be read. */
bool hl_map_cursor_is_damaged(const struct hl_map_cursor *c);

#endif
