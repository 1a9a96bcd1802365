/*
 * oom.h - was it the kernel that killed a process, for want of memory?
 *
 * A program is not told why it dies of SIGKILL. The group that it belongs to counts what the OOM
 * killer has killed in it, so who asks before and afterwards knows, unless two of one group die at
 * the same time for different reasons.
 */
#ifndef HL_COLLECT_OOM_H
#define HL_COLLECT_OOM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct hl_oom {
	char path[PATH_MAX]; /* of the file that counts; empty: there is none */
	uint64_t before;
};

/* Finds the counter of the group that a process is in now. */
void hl_oom_watch(struct hl_oom *o, uint64_t pid);
/* Has the OOM killer been at work there since? */
bool hl_oom_struck(const struct hl_oom *o);

#endif
