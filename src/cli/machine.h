/*
 * machine.h - can anything be recorded here? Kernel, libraries, limits, the place of the trace.
 */
#ifndef HL_CLI_MACHINE_H
#define HL_CLI_MACHINE_H

#include <stddef.h>

#include "cli/findings.h"
#include "cli/record_options.h"

/* Where libheaplapse.so is, in buf[PATH_MAX]. 0; else -errno, and a finding says why. */
int hl_library_find(char *buf, size_t n, struct hl_findings *f);

/* Why there can be no rings, added as a finding that fails; -errno then, else 0. */
int hl_machine_check_rings(struct hl_findings *f);
/* The same for descriptors. */
int hl_machine_check_files(struct hl_findings *f);
/* Has a collector the address space that it needs, at its hard limit? 0 or -errno. */
int hl_machine_check_space(void);
/* All that does not depend on a program. The options are settled. */
void hl_machine_check(struct hl_findings *f, const struct record_options *o);
/* Could the trace of `program` be written? True if so. */
bool hl_machine_check_output(
	struct hl_findings *f, const struct record_options *o, const char *program);
/* The folder of that trace, as a descriptor of the caller's, or -errno. */
int hl_machine_folder(const struct record_options *o, const char *program);
/* Records a small program, beside where the trace would be, and takes it away again. */
void hl_machine_try(struct hl_findings *f, const struct record_options *o, const char *program);

#endif
