/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - starts a collector under a bare LD_PRELOAD, so that the program does not notice it.
 *
 * Two clones, one inside the other, share our memory and suspend the caller (as vfork does), and
 * send no signal when they end. The middle process is reaped here by its pid; the collector itself
 * becomes a child of init. Between clone and exec only system calls are made. The collector gets a
 * new environment without LD_*: an inherited LD_PRELOAD would start collectors without end.
 */
#include <errno.h>
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/attr.h"
#include "base/fmt.h"
#include "record/arch/clone.h"
#include "record/arch/syscall.h"
#include "record/session/spawn.h"

#define PATH_BYTES 4096
#define CANDIDATES 3
#define ENV_MAX    64

struct job {
	char *paths[CANDIDATES];
	char *argv[5];
	char *envp[ENV_MAX];
	int memfd;
	volatile int err; /* of the last exec; 0 if it succeeded */
	char pid[24];
	char path[CANDIDATES][PATH_BYTES];
	_Alignas(16) char stack[2][8192];
};
static struct job job;

/* The collector's process, up to its exec. */
static int run_collector(void *arg)
{
	struct rlimit files;
	struct job *j = arg;

	hl_sys0(SYS_setsid);
	/* The loader needs descriptors before the collector can raise the limit itself. */
	if (hl_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		hl_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &files, NULL);
	}
	if (j->memfd != 3)
		hl_sys3(SYS_dup3, j->memfd, 3, 0);
	else
		hl_sys3(SYS_fcntl, 3, 2 /* F_SETFD */, 0);
	hl_sys3(SYS_close_range, 4, ~0u, 0);
	for (int i = 0; i < CANDIDATES; i++) {
		j->err = 0; /* the memory is shared with the program: 0 stays there if this exec
			       succeeds */
		j->err = (int)-hl_sys3(SYS_execve, j->paths[i], j->argv, j->envp);
	}
	hl_sys1(SYS_exit, 127);
	return 0;
}

static int run_middle(void *arg)
{
	struct job *j = arg;

	hl_arch_clone(CLONE_VM | CLONE_VFORK, j->stack[1] + sizeof(j->stack[1]), run_collector, j);
	hl_sys1(SYS_exit, 0);
	return 0;
}

/* The program next to our own file, then the installed one: from lib/ or from
 * lib/HL_ARCH_MULTIARCH/. */
static void find_paths(struct job *j)
{
	static const char *const names[CANDIDATES] = {
		"heaplapse", "../bin/heaplapse", "../../bin/heaplapse"};
	struct dl_find_object o;
	const char *name = "";
	size_t dir = 0;

	if (_dl_find_object((void *)(uintptr_t)find_paths, &o) == 0)
		name = o.dlfo_link_map->l_name;
	for (size_t i = 0; name[i] && i < PATH_BYTES - 64; i++)
		if (name[i] == '/')
			dir = i + 1;
	for (int i = 0; i < CANDIDATES; i++) {
		memcpy(j->path[i], name, dir);
		memcpy(j->path[i] + dir, names[i], strlen(names[i]) + 1);
		j->paths[i] = j->path[i];
	}
}

/* HEAPLAPSE_* and the variables that a tool needs; nothing that changes how it is loaded. */
static void fill_env(struct job *j, char **envp)
{
	static const char *const kept[] = {
		"HEAPLAPSE_", "HOME=", "LANG=", "LC_", "TZ=", "TMPDIR=", "PATH="};
	size_t n = 0;

	for (; envp && *envp; envp++)
		for (size_t k = 0; k < HL_ARRAY_LEN(kept) && n < ENV_MAX - 1; k++)
			if (!strncmp(*envp, kept[k], strlen(kept[k])))
				j->envp[n++] = *envp;
	j->envp[n] = NULL;
}

/* True if the program's own wait() would return the collector. */
static bool adopts_orphans(void)
{
	int subreaper = 0;

	return hl_sys0(SYS_getpid) == 1 ||
	       (hl_sys2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &subreaper) == 0 && subreaper);
}

hl_cold int hl_spawn_collector(char **envp, int memfd, long *pid)
{
	uint64_t all = ~UINT64_C(0), before;
	int status;

	if (adopts_orphans())
		return -EBUSY;
	find_paths(&job);
	fill_env(&job, envp);
	hl_fmt_u64(job.pid, (uint64_t)hl_sys0(SYS_getpid));
	job.memfd = memfd;
	job.argv[0] = job.paths[0];
	job.argv[1] = (char *)(uintptr_t) "collect";
	job.argv[2] = job.pid;
	hl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	*pid = hl_arch_clone(
		CLONE_VM | CLONE_VFORK, job.stack[0] + sizeof(job.stack[0]), run_middle, &job);
	if (*pid > 0)
		hl_sys4(SYS_wait4, *pid, &status, __WALL, NULL);
	hl_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return *pid < 0 ? (int)*pid : -job.err;
}
