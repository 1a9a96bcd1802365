/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.h - start, fork and end of the recording; messages to the user.
 */
#ifndef HL_RECORD_SESSION_LIFECYCLE_H
#define HL_RECORD_SESSION_LIFECYCLE_H

void hl_lifecycle_fork_child(void);                  /* the child becomes a process of its own */
void hl_lifecycle_disable(const char *why);          /* why == NULL: silently */
void hl_print_message(const char *a, const char *b); /* one line on stderr, unless quiet */
void hl_print_message3(const char *a, const char *b, const char *c);
void hl_print_message4(const char *a, const char *b, const char *c, const char *d);

#endif
