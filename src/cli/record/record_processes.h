/* SPDX-License-Identifier: Apache-2.0 */
/* record_processes.h - the table of processes at the end of `record`. */
#ifndef HL_CLI_RECORD_RECORD_PROCESSES_H
#define HL_CLI_RECORD_RECORD_PROCESSES_H

#include <stdbool.h>

/* Prints the processes of the session of this trace to stderr, if it has several or the first was
 * not recorded. */
void hl_record_print_processes(const char *first_trace);

#endif
