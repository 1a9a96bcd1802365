/*
 * procfs.h - what the kernel says of a process, in /proc. All of it may be gone or forbidden at any
 * moment.
 */
#ifndef HL_UTIL_PROCFS_H
#define HL_UTIL_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* /proc/PID/NAME: a descriptor, or -errno. */
int hl_procfs_open(uint64_t pid, const char *name);
/* The same to read by lines; NULL with errno. The caller closes it. */
FILE *hl_procfs_file(uint64_t pid, const char *name);
/* Its text, at most n - 1 bytes of it, ended by NUL. Returns the length; 0: it cannot be read. */
size_t hl_procfs_read(uint64_t pid, const char *name, char *text, size_t n);
/*
 * /proc/PID/stat from the state on, for a name may hold anything, blanks and brackets too. Lies in
 * text; NULL: it cannot be read.
 */
char *hl_procfs_stat(uint64_t pid, char *text, size_t n);

#endif
