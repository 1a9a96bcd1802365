/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waitpid.c - the wait family: reports to the collector how a child of this process ended.
 *
 * A fork child may be killed and reaped before the collector has looked at it even once. Then only
 * its parent knows how it ended.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include "record/interpose/next.h"
#include "record/session/recorder.h"
#include "record/emit/emit.h"
#include "record/hooks/waitpid.h"
#include "record/session/thread.h"

hl_export pid_t wait(int *status);
hl_export pid_t waitpid(pid_t pid, int *status, int options);
hl_export pid_t wait3(int *status, int options, struct rusage *usage);
hl_export pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage);
hl_export int waitid(idtype_t type, id_t id, siginfo_t *info, int options);

static struct {
	pid_t (*wait4)(pid_t, int *, int, struct rusage *);
	int (*waitid)(idtype_t, id_t, siginfo_t *, int);
} real;

void hl_waitpid_resolve(void)
{
	real.wait4 = hl_next_find("wait4");
	real.waitid = hl_next_find("waitid");
}

static void emit_reaped(pid_t pid, int status)
{
	struct hl_thread *t;
	uint64_t word = (uint32_t)pid | (uint64_t)(uint32_t)status << 32;

	if (pid <= 0 || (!WIFEXITED(status) && !WIFSIGNALED(status)))
		return;
	t = hl_thread_enter();
	if (t && hl_rec.region)
		hl_emit_state(t, HL_REC_REAPED, &word, 1, NULL, 0);
}

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	int own = 0;
	pid_t got;

	if (!real.wait4)
		hl_waitpid_resolve();
	got = real.wait4(pid, status ? status : &own, options, usage);
	if (got > 0)
		emit_reaped(got, status ? *status : own);
	return got;
}

pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait4(WAIT_ANY, status, options, usage);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	return wait4(pid, status, options, NULL);
}

pid_t wait(int *status)
{
	return wait4(WAIT_ANY, status, 0, NULL);
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int err;

	if (!real.waitid)
		hl_waitpid_resolve();
	err = real.waitid(type, id, info, options);
	if (err || !info || !(options & WEXITED) || info->si_pid <= 0)
		return err;
	if (info->si_code == CLD_EXITED)
		emit_reaped(info->si_pid, W_EXITCODE(info->si_status & 0xff, 0));
	else if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
		emit_reaped(info->si_pid, W_EXITCODE(0, info->si_status));
	return 0;
}
