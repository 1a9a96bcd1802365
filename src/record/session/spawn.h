/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - starts a collector under a bare LD_PRELOAD.
 */
#ifndef HL_RECORD_SESSION_SPAWN_H
#define HL_RECORD_SESSION_SPAWN_H

/* 0 or -errno. */
int hl_spawn_collector(char **envp, int memfd, long *pid);

#endif
