/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - checks whether this machine can record: kernel, libraries, limits, the output
 * directory.
 */
#ifndef HL_CLI_DOCTOR_MACHINE_H
#define HL_CLI_DOCTOR_MACHINE_H

#include <stddef.h>

#include "cli/doctor/findings.h"
#include "cli/record/record_options.h"

/* Finds libheaplapse.so and writes its path to buf[PATH_MAX]. Returns 0, or adds a finding and
 * returns -errno. */
int hl_library_find(char *buf, size_t n, struct hl_findings *f);

/* Checks whether rings can be made. Returns 0, or adds a finding that fails and returns -errno. */
int hl_machine_check_rings(struct hl_findings *f);
/* The same for file descriptors. */
int hl_machine_check_files(struct hl_findings *f);
/* Checks the address space that a collector needs, at the hard limit. Returns 0 or -errno. */
int hl_machine_check_space(void);
/* Runs all checks that do not depend on a program. The options must be final. */
void hl_machine_check(struct hl_findings *f, const struct record_options *o);
/* Checks whether the trace of `program` can be written. Returns true if so. */
bool hl_machine_check_output(
	struct hl_findings *f, const struct record_options *o, const char *program);
/* Opens the directory of that trace. Returns a descriptor that the caller closes, or -errno. */
int hl_machine_open_output_dir(const struct record_options *o, const char *program);
/* Records a small program next to the path of the trace, and removes the result. */
void hl_machine_trial_run(
	struct hl_findings *f, const struct record_options *o, const char *program);

#endif
