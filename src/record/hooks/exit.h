/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit.h - hooks of dlclose and of the functions that end the process.
 */
#ifndef HL_RECORD_HOOKS_EXIT_H
#define HL_RECORD_HOOKS_EXIT_H

void hl_exit_emit_status(int status);
void hl_exit_watch_quick_exit(void);
/* Finds the next functions, before main. */
void hl_exit_resolve(void);

#endif
