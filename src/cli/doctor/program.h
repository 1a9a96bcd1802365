/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - checks before a program runs whether it can be recorded, and what will be missing.
 */
#ifndef HL_CLI_DOCTOR_PROGRAM_H
#define HL_CLI_DOCTOR_PROGRAM_H

#include <limits.h>
#include <stddef.h>

#include "cli/doctor/findings.h"

struct target {
	char path[PATH_MAX];  /* the file to execute */
	char image[PATH_MAX]; /* the file that was checked: the same, or the interpreter of a script
			       */
	bool is_script;
	bool is_running; /* already running: the files for its start existed, maybe not where we
			    look */
	int cannot_run;  /* the error of its exec, which is in the findings: -errno, or 0 */
	struct hl_findings findings; /* before hl_program_examine: no findings of HL_VERDICT_OK */
};

/*
 * Finds `program` as execvp would and checks it. Returns 0, or -ENOENT, -EACCES or another -errno
 * if it cannot be run. For a script, the interpreter is checked. Problems are added to the
 * findings. The caller must call hl_program_fini in any case.
 */
int hl_program_find(const char *program, struct target *t);
/* Checks the file that a process runs. `path` leads to it; `name` is its name in messages. */
void hl_program_check_file(const char *path, const char *name, struct target *t);
/* Runs the checks that take longer, and adds findings of HL_VERDICT_OK. Call it after one of the
 * above. */
void hl_program_examine(struct target *t);
void hl_program_fini(struct target *t);

/* Returns the text for an error of hl_program_find. */
const char *hl_program_error_text(const char *program, int err);

#endif
