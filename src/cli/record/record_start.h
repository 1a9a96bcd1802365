/* SPDX-License-Identifier: Apache-2.0 */
/* record_start.h - what `record` says when the program has been started. */
#ifndef HL_CLI_RECORD_RECORD_START_H
#define HL_CLI_RECORD_RECORD_START_H

#include "cli/record/record_session.h"

/* Prints the pid, the name of the trace and how to ask about it, if stderr is a terminal. */
void hl_record_print_start(const struct record_session *s);

#endif
