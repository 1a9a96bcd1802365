/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waitpid.h - hooks of the wait family.
 */
#ifndef HL_RECORD_HOOKS_WAITPID_H
#define HL_RECORD_HOOKS_WAITPID_H

/* Finds the next functions, before main. */
void hl_waitpid_resolve(void);

#endif
