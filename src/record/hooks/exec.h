/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - hooks of the exec family.
 */
#ifndef HL_RECORD_HOOKS_EXEC_H
#define HL_RECORD_HOOKS_EXEC_H

/* Finds the next functions, before main. */
void hl_exec_resolve(void);

#endif
