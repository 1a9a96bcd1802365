/* SPDX-License-Identifier: Apache-2.0 */
/*
 * append_files.h - copies a whole trace and embeds more files in the copy.
 *
 * All chunks but END are copied unchanged. END stays the last chunk before the index and gets a new
 * sequence number. So all data of the trace is the same. A trace that is damaged or still being
 * written is refused.
 */
#ifndef HL_TRACE_EDIT_APPEND_FILES_H
#define HL_TRACE_EDIT_APPEND_FILES_H

#include "trace/read/reader.h"

struct hl_append_files;

/*
 * Copies r to fd, a new and empty file. On success *out owns fd and hl_append_files_end closes it;
 * after an error fd still belongs to the caller. Returns -EBADMSG if r is damaged, -EBUSY if it is
 * still being written.
 */
int hl_append_files_begin(struct hl_append_files **out, struct hl_reader *r, int fd);
/* Embeds a file; the same contract as hl_writer_add_file. */
int hl_append_files_add_file(
	struct hl_append_files *x, const struct hl_embedded_file *file, int fd);
/* Writes END and the index and frees x. Returns 0 or the first error; after an error the copy is
 * not usable. */
int hl_append_files_end(struct hl_append_files *x);

#endif
