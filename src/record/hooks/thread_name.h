/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_name.h - hooks of functions that name threads.
 */
#ifndef HL_RECORD_HOOKS_THREAD_NAME_H
#define HL_RECORD_HOOKS_THREAD_NAME_H

/* Records the new name of the calling thread, of which the kernel keeps 15 bytes. */
void hl_thread_name_self(const char *name);
/* Finds the next functions, before main. */
void hl_thread_name_resolve(void);

#endif
