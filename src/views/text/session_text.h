/* SPDX-License-Identifier: Apache-2.0 */
/* session_text.h - the processes of a session as a table. */
#ifndef HL_VIEWS_TEXT_SESSION_TEXT_H
#define HL_VIEWS_TEXT_SESSION_TEXT_H

#include <stdio.h>

#include "model/session/session.h"

/* Prints a line for each process, by falling peak, at most `limit` of them and then their number;
 * 0: all. `indent` is printed before each line. Returns 0 or -ENOMEM. */
int hl_text_session(FILE *out, const struct hl_session_list *s, size_t limit, const char *indent);

#endif
