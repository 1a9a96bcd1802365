/*
 * logfile.h - the log of a region, `record --log-level`: lines of the collector, and the file that
 * the recorder appends its own to.
 *
 * The file is made when the region opens, readable by its owner alone, and is opened again for each
 * line: no descriptor is held. Any thread may log.
 */
#ifndef HL_COLLECT_LOGFILE_H
#define HL_COLLECT_LOGFILE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/level.h"
#include "collect/output.h"

struct hl_logfile {
	enum hl_level level;
	char path[HL_LOG_PATH_MAX]; /* absolute; "": stderr */
};

/* What `record` was told. */
struct hl_logfile_settings {
	enum hl_level level;
	const char *pattern; /* as of a trace, without %n; NULL: stderr */
};

/*
 * Makes the file of this program, or takes one that is there, if it is a plain file of ours. 0, or
 * -errno, as of hl_output_folder() too; then nothing is logged.
 */
int hl_logfile_open(struct hl_logfile *log, const struct hl_logfile_settings *set,
	const struct hl_output_settings *out, const char *program, uint64_t pid);

/* Could it be made? 0 or -errno, and no new file. */
int hl_logfile_check(const struct hl_logfile_settings *set, const struct hl_output_settings *out,
	const char *program, uint64_t pid);

/* One line. log may be NULL: none is kept. */
void hl_logfile_say(const struct hl_logfile *log, enum hl_level level, const char *format, ...)
	hl_printf(3, 4);

#endif
