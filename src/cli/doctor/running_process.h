/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running_process.h - checks of a running process: whether it is recorded, by which process and how
 * completely; if not, whether it could be.
 */
#ifndef HL_CLI_DOCTOR_RUNNING_PROCESS_H
#define HL_CLI_DOCTOR_RUNNING_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/doctor/findings.h"

/* Returns whether the word is a pid and not a program's name: it consists of digits only, of any
 * value. */
bool hl_running_process_is_pid(const char *word);
/*
 * Sets *inode to the inode of the region that the process records into. Returns 0, -ESRCH: no such
 * process, -EACCES: it may not be inspected, -ENOENT: it runs without the recorder, -ENODATA: the
 * recorder is switched off in it.
 */
int hl_running_process_region(uint64_t pid, uint64_t *inode);
/* Returns which kind of process of a recording this is, judged by its command line, which all users
 * may read. `program` is the path of its image, "" if that is not known. */
enum hl_running_process_part { HL_PROCESS_OTHER, HL_PROCESS_RECORD, HL_PROCESS_COLLECTOR };
enum hl_running_process_part hl_running_process_part(uint64_t pid, const char *program);
/*
 * Finds the recorded program. For `record`, and for the collector that it started, that is the
 * program that `record` runs; otherwise the process itself. Returns 0, or -ECHILD: a process of
 * heaplapse whose program is not found.
 */
int hl_running_process_follow(uint64_t pid, uint64_t *program);
/* Adds findings about the process with this pid. Returns 1 if the recorder is in it, and the
 * findings are about the recording; 0 if not, and the findings are about what would matter after a
 * restart; -ESRCH if there is no such process, -EINVAL if it is a process of heaplapse. */
int hl_running_process_check(struct hl_findings *f, const char *word);

#endif
