/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_output.h - the traces that are being written.
 *
 * The first thread adds to a trace; the second thread creates its file and writes it
 * (write_queue.h).
 */
#ifndef HL_COLLECT_OUTPUT_TRACE_OUTPUT_H
#define HL_COLLECT_OUTPUT_TRACE_OUTPUT_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/output/exit_ack.h"
#include "trace/event.h"
#include "trace/write/writer.h"

struct hl_base_task;
struct hl_durable;
struct hl_log_file;
struct hl_trace_output;
struct hl_write_queue;

/* Where the traces are written and how they are named. Strings belong to the caller. */
struct hl_trace_output_settings {
	const char *pattern; /* with %p %e %t %n %h %% */
	int dir_fd;          /* relative patterns start here */
	bool overwrite;
	bool allow_unsafe_dir; /* also in directories where all users may rename files */
	bool own_names; /* the user's pattern has %p, %e or %n: it names the trace of each process
			 */
	bool disabled;  /* no trace is written: mode tags, where the program writes its counters */
	/* Called by the second thread when the first trace of this run gets a name other than that
	 * of the pattern, because that name is taken. May be NULL. */
	void (*on_renamed)(const char *wanted, const char *path);
	/* --churn-log: called by the second thread when a trace has its name. Returns the pid of a
	 * child that follows the trace until it is closed, or -errno. NULL: none. */
	const char *churn_log;
	int (*follow)(const struct hl_trace_output_settings *s, const struct hl_meta *meta,
		const char *trace);
};

/* Refusals of hl_trace_output_dir(), as error numbers that no file system call returns. */
#define HL_OUTPUT_EXPOSED ENOTUNIQ /* any user may rename and remove files on the path */
#define HL_OUTPUT_PLANTED EREMCHG  /* another user's link in a directory that all may write to */
/* Refusals of hl_session_check(). */
#define HL_OUTPUT_SESSION     EUCLEAN /* the directory of the session exists */
#define HL_OUTPUT_NOT_SESSION ENAVAIL /* a directory of that name is not a session of this user */
#define HL_OUTPUT_READ_ONLY   ECOMM   /* the directory of the session must not be written to */
/* A refusal of hl_trace_output_may_replace(): another user's file in a sticky directory. */
#define HL_OUTPUT_FOREIGN ENOTNAM

/* Creates a trace. The first thread creates it, adds to its writer and ends it; the second thread
 * opens, writes and closes the file. The strings of meta and the log, which may be NULL, are
 * copied; durable gets one more reference. NULL: out of memory. */
struct hl_trace_output *hl_trace_output_new(struct hl_write_queue *q, const struct hl_meta *meta,
	uint64_t start_mono_ns, struct hl_durable *durable, bool sample_rss,
	const struct hl_log_file *log);
/* Creates the output that continues `o`, and its file, but no writer yet: hl_trace_output_begin
 * does that. The file is not created (-ENOSPC) if its file system has less than `room` bytes. NULL:
 * out of memory. */
struct hl_trace_output *hl_trace_output_new_successor(
	const struct hl_trace_output *o, uint64_t room);
/* 0 if its file was created; -EAGAIN: not yet; another -errno: it could not be. */
int hl_trace_output_created(const struct hl_trace_output *o);
/* Opens the writer of a successor: its trace begins late, with this base. 0 or -errno. */
int hl_trace_output_begin(struct hl_trace_output *o, const struct hl_base *base);
/* Posts the live blocks of the base, which the second thread frees. 0; or -ENOMEM: the task is
 * still the caller's. */
int hl_trace_output_post_base(struct hl_trace_output *o, struct hl_base_task *task);
/* Its base is in the file: 0; -EAGAIN: not yet; another -errno: it could not be written. */
int hl_trace_output_base_written(const struct hl_trace_output *o);
/* The trace cannot be completed; everything that follows is discarded and counted as missing. */
void hl_trace_output_fail(struct hl_trace_output *o, int err);
/* Removes the file of a successor that was not begun, and frees it. */
void hl_trace_output_discard(struct hl_trace_output *o);
/* The output that o continues is closed: its file is complete. */
bool hl_trace_output_predecessor_closed(const struct hl_trace_output *o);
/* Its writer, which remembers the first error. */
struct hl_writer *hl_trace_output_writer(struct hl_trace_output *o);
/* Adds a module. An empty or relative path is completed by means of /proc. */
int hl_trace_output_add_module(struct hl_trace_output *o, const struct hl_module *m);
int hl_trace_output_add_extra(struct hl_trace_output *o, const struct hl_extra *extra);
/* Returns the file's path ("" before it is opened), its size, and when the trace began. */
void hl_trace_output_status(const struct hl_trace_output *o, char *path, size_t n, uint64_t *bytes,
	uint64_t *start_unix_ns);
/* Call it regularly. Samples the resident set, takes samples of the mappings and flushes the
 * writer. */
void hl_trace_output_tick(struct hl_trace_output *o, uint64_t now_ns);
/* The program is about to exit: requests a last sample of its mappings. Returns true when it was
 * taken, will not come, or was awaited long enough. */
bool hl_trace_output_finish_maps(struct hl_trace_output *o, uint64_t now_ns);
/* The last sample of the resident set; 0: not known. */
uint64_t hl_trace_output_rss(const struct hl_trace_output *o);
/* Its counters will include this many events that a previous collector lost. When the counters are
 * written, these events count as durable. */
void hl_trace_output_set_reported_lost(struct hl_trace_output *o, uint64_t lost);
/* Call it before the end: the output that continues the trace. */
void hl_trace_output_set_successor(struct hl_trace_output *o, struct hl_trace_output *next);
/* Call it before the end: the process that waits for the trace. */
void hl_trace_output_set_ack(struct hl_trace_output *o, const struct hl_exit_ack *ack);
/* Ends the trace, with its cost and the number of events that the writer received. The second
 * thread closes and frees the output later; the writer is then the caller's. */
void hl_trace_output_end(struct hl_trace_output *o, const struct hl_end *end,
	const struct hl_counters *counters, const struct hl_cost *cost, uint64_t events);

/* Expands a pattern. 0, -EINVAL for a bad pattern, or -ENAMETOOLONG. */
int hl_trace_output_name(char *buf, size_t n, const char *pattern, const char *program,
	uint64_t pid, uint64_t unix_ns, uint32_t number);

/* True if the pattern has %p, %e or %n, so that processes have different names. */
bool hl_trace_output_names_differ(const char *pattern);
/* The program's name without its directory. No character of it leads to another directory. */
void hl_trace_output_program_name(char *buf, size_t n, const char *program);

/* Opens the directory of this file. Returns a descriptor, owned by the caller; -HL_OUTPUT_EXPOSED,
 * -HL_OUTPUT_PLANTED or another -errno. */
int hl_trace_output_dir(const struct hl_trace_output_settings *s, const char *path);
/* The file's name without its directory: the end of `path`. */
const char *hl_trace_output_base(const char *path);
/* Checks whether the file of this name in the directory may be replaced: 0, or an error. Only
 * regular files and links are replaced (the links themselves), never a device, a FIFO or a
 * directory (-EEXIST). -HL_OUTPUT_FOREIGN; -EBUSY: it is a trace that is being written; -ENOENT. */
int hl_trace_output_may_replace(int dir, const char *base);

/* Creates a file in this directory without a name yet. Returns a descriptor, or -errno where the
 * file system does not support it. */
int hl_trace_output_create_unnamed(int dir);
/* Links the nameless file `fd` to its name, or creates a new file (fd < 0). Returns a descriptor or
 * -errno. */
int hl_trace_output_link_name(int dir, const char *base, int fd);
/* The same, but replaces the file that has the name now, atomically: one of the two always
 * exists. */
int hl_trace_output_replace_name(int dir, const char *base, int fd);

/* Checks whether a trace of this process could be created. 0; -EEXIST when the file exists and may
 * not be replaced; an error of hl_trace_output_dir(), hl_trace_output_may_replace() or the pattern
 * (-EINVAL) or of hl_session_check(). name: gets the name of that trace; may be NULL. */
int hl_trace_output_check(const struct hl_trace_output_settings *s, const char *program,
	uint64_t pid, char name[PATH_MAX]);

#endif
