/* SPDX-License-Identifier: Apache-2.0 */
/* record_summary.h - the summary at the end of `record`. */
#ifndef HL_CLI_RECORD_RECORD_SUMMARY_H
#define HL_CLI_RECORD_RECORD_SUMMARY_H

#include <stdint.h>

/* Prints the summary of a trace to stderr. earlier_files: files that were closed by ctl rotate. If
 * the trace cannot be read, prints one line about that. */
void hl_summary_print(const char *path, uint32_t earlier_files);
/* Mode tags: there is no trace, only counters that the program with this pid has written itself. */
void hl_summary_print_tags(const char *program, uint64_t pid);

#endif
