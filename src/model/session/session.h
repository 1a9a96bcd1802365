/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - the processes of one run: the first trace, app.hlt, and the traces that the directory
 * app.hlt.d/ lists and has.
 *
 * Files of one process are those of the programs that it ran one after the other (exec), and files
 * that continue another one (a dead collector, ctl rotate). The numbers of a program are those of
 * its last file, the numbers of a process those of the largest of its programs. Everything in the
 * directory is hostile: only regular files beside the list or beside the directory are opened,
 * lines that are not understood are counted and skipped.
 */
#ifndef HL_MODEL_SESSION_SESSION_H
#define HL_MODEL_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "util/vec.h"

struct hl_session_file {
	char *path, *program;
	char *command; /* the words of its command line, each with its NUL; perhaps cut. NULL: none
			*/
	size_t command_len;
	uint64_t pid, parent_pid, start_unix_ns;
	bool is_listed; /* it belongs to the run; other files of the directory may be the user's */
	char *problem;  /* why it cannot be read: one sentence; NULL: none, or not opened yet */
	bool is_missing;
	bool is_moved; /* it is missing, and another file continues it: after a rotation the user
			  may move or remove it */
	/* From the trace itself; only if is_read. */
	bool is_read;
	bool forked;      /* a fork child, which has not called exec yet */
	bool continues;   /* it goes on where another file of the process ends */
	bool begins_late; /* it has a base */
	struct hl_end end;
	uint64_t peak_bytes, peak_blocks, allocations;
	uint64_t live_bytes, live_blocks; /* at the end */
	uint64_t resident_bytes;          /* the highest sample; 0: there is none */
	bool is_sampled;                  /* the numbers are estimates */
	bool is_damaged; /* a part of the trace cannot be read: the numbers may be too low */
};

struct hl_session_process {
	size_t last;     /* its last file that could be read */
	size_t largest;  /* the last file of the program with the highest peak, which counts */
	size_t n_files;  /* all of them, one after the other in `order` from `first` on */
	size_t in_order; /* where they begin in `order` */
	/* The word of the command line of `largest` that distinguishes it from other processes of
	 * the same program. NULL: there is no other one, or no such word. It belongs to the file.
	 */
	const char *argument;
};

struct hl_session_list {
	char *first;                                 /* the first trace, which may not exist */
	char *dir;                                   /* the directory, which may not exist */
	HL_VEC(struct hl_session_file) files;        /* the first trace first, then as listed */
	HL_VEC(struct hl_session_process) processes; /* the first process first */
	HL_VEC(size_t) order;                        /* indexes of files, by process */
	bool has_first;                              /* the first trace exists: it is files[0] */
	uint64_t bad_lines;                          /* of the list, which were skipped */
	/* Counted by hl_session_list_read(): processes without a trace that can be read, and those
	 * of which only a part can be read. */
	size_t lost_processes, partial_processes;
};

/* A directory cannot list more traces. */
#define HL_SESSION_FILES_MAX 1000000u

/* True if the path is a directory that has a list of a session, or traces. */
bool hl_session_is_dir(const char *path);
/*
 * Reads the list of the session that a trace (app.hlt) or a directory (app.hlt.d) belongs to,
 * without opening traces other than the first. Without a directory the session has one file at
 * most. 0 or -errno: -ENOENT if there is neither a trace nor a directory, -EFBIG. The caller frees
 * *out.
 */
int hl_session_list_open(struct hl_session_list **out, const char *path);
void hl_session_list_free(struct hl_session_list *s);
/* Opens the traces and finds the processes. 0 or -ENOMEM. */
int hl_session_list_read(struct hl_session_list *s);
/* The same for the process of the first trace alone. */
int hl_session_list_read_first(struct hl_session_list *s);
/* Indexes of processes by falling peak. The caller frees them. NULL: no memory. */
size_t *hl_session_by_peak(const struct hl_session_list *s);

/* A process by its pid, by the base name of a program that it ran (its own, or if there is none
 * that of the file that it leads to here: dash of sh), or by that of one of its files. */
struct hl_session_match {
	size_t process;
	size_t file; /* the last file of that program, or that file; by pid of the largest program
		      */
};
struct hl_session_matches {
	HL_VEC(struct hl_session_match) found;
};
/* 0 or -ENOMEM. The caller frees the vector. Requires hl_session_list_read(). */
int hl_session_find(
	const struct hl_session_list *s, const char *name, struct hl_session_matches *m);
/* The base name of a program. */
const char *hl_session_base(const char *program);

/* True if the trace is one of this run that cannot be read. */
static inline bool hl_session_file_is_lost(const struct hl_session_file *f)
{
	return f->is_listed && f->problem && !f->is_moved;
}

static inline const struct hl_session_file *hl_session_last(
	const struct hl_session_list *s, size_t process)
{
	return &s->files.data[s->processes.data[process].last];
}

/* The files of the program that the numbers of a process are from: one, or those of a rotation, in
 * their order. Returns the index of the first in `order`. */
size_t hl_session_program_files(const struct hl_session_list *s, size_t process, size_t *n);

/* How many traces the first one says that the session has, and which are neither listed nor there:
 * the directory was removed or not copied. */
uint64_t hl_session_missing(const struct hl_session_list *s);

/* When the first of its processes began. */
uint64_t hl_session_start(const struct hl_session_list *s);

/* The file that the numbers of a process are from. */
static inline const struct hl_session_file *hl_session_largest(
	const struct hl_session_list *s, size_t process)
{
	return &s->files.data[s->processes.data[process].largest];
}

#endif
