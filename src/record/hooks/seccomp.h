/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.h - a program that gives up rights by seccomp or prctl.
 */
#ifndef HL_RECORD_HOOKS_SECCOMP_H
#define HL_RECORD_HOOKS_SECCOMP_H

#include <stdbool.h>

/* Finds the next functions, before main. */
void hl_seccomp_resolve(void);
/* True if this program started with more seccomp filters than `record` has (or process 1, for a
 * bare LD_PRELOAD). */
bool hl_seccomp_is_inherited(const char *address);

#endif
