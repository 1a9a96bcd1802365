/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_variable.h - bare LD_PRELOAD: hands the session on to the programs that this one
 * executes.
 *
 * HL_SESSION_VARIABLE is added to the environment that the program passes to exec or posix_spawn.
 * The program's own environment is not changed: our constructor runs before libc sets it up.
 */
#ifndef HL_RECORD_SESSION_SESSION_VARIABLE_H
#define HL_RECORD_SESSION_SESSION_VARIABLE_H

#include <stddef.h>

/* The value to hand on; "": none. Call it once, before main. */
void hl_session_variable_set(const char *session);
/* The size of a copy of envp with the variable; 0: envp is to be used as it is. */
size_t hl_session_variable_env_bytes(char *const envp[]);
/* Returns a copy with the variable in room, which has that size; envp itself if the size is 0. */
char *const *hl_session_variable_env(char *const envp[], void *room);

#endif
