/* SPDX-License-Identifier: Apache-2.0 */
/* tags_file.h - writes a report of tags to a file, from inside the program. */
#ifndef HL_RECORD_TAGS_TAGS_FILE_H
#define HL_RECORD_TAGS_TAGS_FILE_H

#include "record/session/recorder.h"
#include "tags/tag_report.h"

#define HL_TAGS_PATH_MAX 4096

struct hl_text_sink;
typedef void (*hl_tags_format_fn)(struct hl_text_sink *s, const struct hl_tag_report *r);

/* Needed for the calls below: one thread at a time. False: another thread holds the lock. */
bool hl_tags_file_lock(void);
void hl_tags_file_unlock(void);
/* own_pid: the pid of the program. A process with another pid is a fork child and adds its pid to
 * the file name. Returns 0 or -errno. */
int hl_tags_file_write(
	const char *path, uint32_t own_pid, const struct hl_tag_report *r, hl_tags_format_fn form);
/* Prints a message, the first time only. */
void hl_tags_file_report_error(const char *path, int err);

/* True if there is a regular file, or a link to one or to nothing. */
bool hl_tags_file_exists(const char *path);

#endif
