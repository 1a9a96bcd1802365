/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_dir.h - the directory of a session: the traces of all processes of one run but the first.
 *
 * app.hlt is the trace of the program that was started. app.hlt.d/ is made when a second file is
 * needed: for a child, for another program that a process became by exec, for the successor of a
 * dead collector. It holds these traces, PID.PROGRAM.hlt, and the list `session`
 * (trace/format/session_row.h). A file that continues another one (ctl rotate) is beside it, and is
 * in the list too. If the user's pattern has %p, %e or %n, each trace is named by it and the
 * directory holds only the list.
 *
 * Nothing is renamed, and a file that exists is never written to: several collectors may use one
 * directory. The directory is private (0700); one of another user, or a link, is not used.
 */
#ifndef HL_COLLECT_OUTPUT_SESSION_DIR_H
#define HL_COLLECT_OUTPUT_SESSION_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct hl_trace_output_settings;

/* Used by the second thread, apart from the first two functions. Zero-initialized: a new session,
 * whose first trace has the name that the pattern gives it. */
struct hl_session {
	char trace[PATH_MAX]; /* the first trace of the session; "": not known yet */
	uint64_t first_pid;   /* the program that was started; 0: the first that has a trace */
	bool joined;          /* bare LD_PRELOAD: the first trace is another collector's */
	bool has_first;       /* the name `trace` is used */
	bool cleared;         /* an old session of this name was removed, or need not be */
	int err;              /* the directory cannot be used: -errno of the first attempt */
	bool err_reported;
	bool announced; /* its name was reported to `record` */
};

/* `record` knows the program and the name of its trace before they exist. is_made: a collector that
 * has died may have made the trace. */
void hl_session_set_first(struct hl_session *s, const char *trace, uint64_t pid, bool is_made);

/* The value of HL_SESSION_VARIABLE (ring/region_layout.h), which hands a session on, and the
 * inverse. The value is only valid for the same pattern. False: too long, or not such a value. */
bool hl_session_export(const struct hl_session *s, const struct hl_trace_output_settings *set,
	char *value, size_t n);
bool hl_session_join(struct hl_session *s, const char *pattern, const char *value);

/* Checks the directory that belongs to the trace `base` in `dir`. 0: there is none, or it may be
 * used (overwrite, or it has nothing but a list: its traces were removed); -HL_OUTPUT_SESSION:
 * it exists; -HL_OUTPUT_NOT_SESSION: it is not a private directory of this user, or has a file
 * `session` that is not a list; -HL_OUTPUT_READ_ONLY: its old traces cannot be removed and new ones
 * not made; -EBUSY: a trace in it is being written. */
int hl_session_check(int dir, const char *base, bool overwrite);
/* Removes the old session of the trace `base`, which hl_session_check() has accepted: the traces in
 * the directory that the list names, the files of a rotation beside it, and the list. Other files
 * stay. */
void hl_session_remove(int dir, const char *base);

/* Opens the directory of the session; makes it if it does not exist. Returns a descriptor or
 * -errno. */
int hl_session_open_dir(struct hl_session *s, const struct hl_trace_output_settings *set);
/* Writes the name of a trace in the directory: TRACE.d/PID.PROGRAM.hlt. 0 or -ENAMETOOLONG. */
int hl_session_name(
	const struct hl_session *s, char *buf, size_t n, const char *program, uint64_t pid);
/* Adds the trace at `path` to the list. 0 or -errno. */
int hl_session_add(struct hl_session *s, const struct hl_trace_output_settings *set,
	const struct hl_meta *meta, const char *path, bool in_dir);

#endif
