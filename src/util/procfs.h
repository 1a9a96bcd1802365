/* SPDX-License-Identifier: Apache-2.0 */
/*
 * procfs.h - reads files of a process in /proc. Each file may disappear or become unreadable at any
 * moment.
 */
#ifndef HL_UTIL_PROCFS_H
#define HL_UTIL_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Opens /proc/PID/NAME. Returns a descriptor, which the caller closes, or -errno. */
int hl_procfs_open(uint64_t pid, const char *name);
/* The same as a stream. Returns NULL with errno set on error. The caller closes it. */
FILE *hl_procfs_fopen(uint64_t pid, const char *name);
/* Reads at most n - 1 bytes of the file and adds a NUL. Returns the length, 0 if the file cannot be
 * read. */
size_t hl_procfs_read(uint64_t pid, const char *name, char *text, size_t n);
/*
 * Reads /proc/PID/stat and returns a pointer into text, to the state field. The process name before
 * it may hold spaces and parentheses, so the search starts at the end. Returns NULL if the file
 * cannot be read.
 */
char *hl_procfs_stat(uint64_t pid, char *text, size_t n);

#endif
