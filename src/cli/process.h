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
/* A part of a recording that is not the program: by its command line, which everybody may see.
 * `program` is the path of its image, "" if that is not known. */
enum hl_process_part { HL_PROCESS_OTHER, HL_PROCESS_RECORD, HL_PROCESS_COLLECTOR };
enum hl_process_part hl_process_part(uint64_t pid, const char *program);
/*
 * The program that is meant: of `record`, and of the collector that it started, the one that it
 * runs; else the process itself. 0, or -ECHILD: a part of heaplapse without a program to be found.
 */
int hl_process_follow(uint64_t pid, uint64_t *program);
/* 1 when the recorder is in it, and how well it does; 0 when not, and what would matter if it were
 * started anew; -ESRCH when there is no such process, -EINVAL when it is a part of heaplapse. The
 * word is a pid. */
int hl_process_check(struct hl_findings *f, const char *word);

#endif
