/*
 * process.h - a running process: is it recorded, by whom and how well; could it be, if not?
 */
#ifndef HL_CLI_PROCESS_H
#define HL_CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/findings.h"

/* Is the word a pid, rather than a program's name? Of digits alone, whatever they come to. */
bool hl_process_is_pid(const char *word);
/*
 * The inode of the region that the process records into. 0, -ESRCH: no such process, -EACCES: it
 * may not be looked at, -ENOENT: it runs without the recorder, -ENODATA: the recorder is switched
 * off in it.
 */
int hl_process_region(uint64_t pid, uint64_t *inode);
/* 1 when the recorder is in it, and how well it does; 0 when not, and what would matter if it were
 * started anew; -ESRCH when there is no such process, -EINVAL when it is a part of heaplapse. The
 * word is a pid. */
int hl_process_check(struct hl_findings *f, const char *word);

#endif
