/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_probe.h - examines a program that is about to be executed: can it be recorded?
 */
#ifndef HL_RECORD_INTERPOSE_EXEC_PROBE_H
#define HL_RECORD_INTERPOSE_EXEC_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The result for a program and the environment that it would get. */
struct hl_exec_probe {
	const char *why;    /* why it is not recorded; NULL: as far as is known, it is */
	bool by_script;     /* `why` is about the interpreter of a script */
	bool strip_preload; /* it cannot run with the recorder in its LD_PRELOAD */
	uint64_t id;        /* of its file; 0: there is none */
};
struct hl_exec_probe hl_exec_probe_path(int dir, const char *path, char *const envp[]);
struct hl_exec_probe hl_exec_probe_fd(int fd, char *const envp[]);
struct hl_exec_probe hl_exec_probe_file(const char *file, const char *path, char *const envp[]);
/* Prints that it is not recorded, once for each program. path may be NULL. */
void hl_exec_probe_announce(const struct hl_exec_probe *n, const char *path);
/* Its environment without the recorder, made in `room` of hl_exec_probe_env_bytes() bytes. */
size_t hl_exec_probe_env_bytes(char *const envp[]);
char *const *hl_exec_probe_env(char *const envp[], void *room);
/* fd: of the page that is shared by the whole recording (ring/announced_programs.h); -1: none. */
void hl_exec_probe_begin(int fd);
void hl_exec_probe_end(void);
/* --no-follow-exec: removes the recorder from this environment, in place. The exec hooks would not
 * suffice: system() and popen() do not call them. */
void hl_exec_probe_strip_env(char **envp);

#endif
