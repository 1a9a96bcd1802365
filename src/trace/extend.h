/*
 * extend.h - a copy of a whole trace, with more files in it.
 *
 * Every chunk is copied as it is but for END, which stays the last and gets a new number; so what
 * the trace says does not change. A trace that is damaged, or that somebody still writes, is not
 * copied.
 */
#ifndef HL_TRACE_EXTEND_H
#define HL_TRACE_EXTEND_H

#include "trace/reader.h"

struct hl_extension;

/*
 * Copies r into fd, a new, empty file, which is closed by hl_extend_end; after an error here it is
 * still the caller's. -EBADMSG when r is damaged, -EBUSY while it is being written.
 */
int hl_extend_begin(struct hl_extension **out, struct hl_reader *r, int fd);
/* As hl_writer_add_file. */
int hl_extend_add_file(struct hl_extension *x, const struct hl_carried *file, int fd);
/* The end and the index. 0 or the first error: without a good end the copy is of no use. */
int hl_extend_end(struct hl_extension *x);

#endif
