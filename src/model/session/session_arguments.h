/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_arguments.h - the word of a command line that distinguishes a process from the others
 * of the same program: the source file of one of many compilers.
 */
#ifndef HL_MODEL_SESSION_SESSION_ARGUMENTS_H
#define HL_MODEL_SESSION_SESSION_ARGUMENTS_H

#include "model/session/session.h"

/* Sets the argument of each process. 0 or -ENOMEM. */
int hl_session_find_arguments(struct hl_session_list *s);

#endif
