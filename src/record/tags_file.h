/* tags_file.h - a report of tags to a file, from inside the program. */
#ifndef HL_RECORD_TAGS_FILE_H
#define HL_RECORD_TAGS_FILE_H

#include "record/recorder.h"
#include "tags/report.h"

#define HL_TAGS_PATH 4096

struct hl_sink;
typedef void (*hl_tags_form)(struct hl_sink *s, const struct hl_tag_report *r);

/* For what follows: one thread at a time. False: another is at it. */
bool hl_tags_file_lock(void);
void hl_tags_file_unlock(void);
/* own_pid: of the program; any other process, a fork child, writes to a name with its pid. 0 or
 * -errno. */
int hl_tags_file_write(
	const char *path, uint32_t own_pid, const struct hl_tag_report *r, hl_tags_form form);
/* The first time only. */
void hl_tags_file_complain(const char *path, int err);

/* Is there a plain file, or a link to one? */
bool hl_tags_file_exists(const char *path);

#endif
