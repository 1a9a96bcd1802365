/* SPDX-License-Identifier: Apache-2.0 */
/* record_processes.h - the processes of a run, at the end of `record`. */
#ifndef HL_CLI_RECORD_RECORD_PROCESSES_H
#define HL_CLI_RECORD_RECORD_PROCESSES_H

#include <stdbool.h>

#include "model/session/session.h"

/* Reads the session of this trace. NULL: there is none, or a message was printed. The caller frees
 * it. */
struct hl_session_list *hl_record_read_processes(const char *first_trace);
/* The trace that the summary is about: that of the process with the highest peak, of which it
 * prints that it is not the one that was started; or `started`. */
const char *hl_record_choose_summary(const struct hl_session_list *s, const char *started);
/* Prints the processes to stderr, if there are several or the first was not recorded. */
void hl_record_print_processes(const struct hl_session_list *s);

#endif
