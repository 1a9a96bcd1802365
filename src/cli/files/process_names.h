/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_names.h - names of output files from a pattern, one for each process of a session: %p is
 * its pid, %e its program, and so on as in the names of traces.
 */
#ifndef HL_CLI_FILES_PROCESS_NAMES_H
#define HL_CLI_FILES_PROCESS_NAMES_H

#include <stdbool.h>

#include "cli/files/session_choice.h"

/* True if the pattern has %p, %e or %n. */
bool hl_process_names_differ(const char *pattern);
/* Makes a name for each file of a choice that is a session. Returns 0, or prints a message and
 * returns an exit status: the pattern is not valid, or two processes would have the same name. */
int hl_process_names_make(char ***names, const char *pattern, const struct hl_session_choice *c);
void hl_process_names_free(char **names, const struct hl_session_choice *c);

#endif
