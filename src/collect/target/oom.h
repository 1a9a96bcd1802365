/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.h - whether the kernel's OOM killer has killed a process.
 *
 * The kernel does not say why a process was killed by SIGKILL. But a cgroup counts the processes in
 * it that the OOM killer has killed, so the count before and after shows the reason, unless two
 * processes of one group die at the same time for different reasons.
 */
#ifndef HL_COLLECT_TARGET_OOM_H
#define HL_COLLECT_TARGET_OOM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct hl_oom {
	char path[PATH_MAX]; /* the file with the count; empty: none */
	uint64_t initial_count;
};

/* Finds the counter of the cgroup that a process is in now. */
void hl_oom_watch(struct hl_oom *o, uint64_t pid);
/* True if the OOM killer has killed a process there since. */
bool hl_oom_has_killed(const struct hl_oom *o);

#endif
