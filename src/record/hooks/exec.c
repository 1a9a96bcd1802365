/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - the exec family: announces to the collector that another program replaces this one, then
 * calls the real function. A program that cannot run with the recorder (exec_probe.c) gets an
 * environment without it. A program that will not be recorded is reported to the user.
 *
 * From outside, an exec cannot be distinguished from a process that ran on for a moment and ended.
 * If the call fails, the thread's next record revokes the announcement. A vfork child calls these
 * functions in our memory, and a fork child without any event has no trace to end: neither
 * announces anything. The real functions are resolved before main, because these hooks may be
 * called in signal handlers and between vfork and exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "record/arch/syscall.h"
#include "record/interpose/next.h"
#include "record/session/recorder.h"
#include "record/emit/emit.h"
#include "record/hooks/exec.h"
#include "record/interpose/exec_probe.h"
#include "record/session/session_variable.h"

extern char **__environ;

hl_export int execve(const char *path, char *const argv[], char *const envp[]);
hl_export int execv(const char *path, char *const argv[]);
hl_export int execvp(const char *file, char *const argv[]);
hl_export int execvpe(const char *file, char *const argv[], char *const envp[]);
hl_export int fexecve(int fd, char *const argv[], char *const envp[]);
hl_export int execveat(
	int dir, const char *path, char *const argv[], char *const envp[], int flags);
hl_export int execl(const char *path, const char *arg, ...);
hl_export int execlp(const char *file, const char *arg, ...);
hl_export int execle(const char *path, const char *arg, ...);
hl_export int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
hl_export int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
	int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		const posix_spawnattr_t *, char *const[], char *const[]);
	int (*spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
		const posix_spawnattr_t *, char *const[], char *const[]);
} real;

void hl_exec_resolve(void)
{
	real.execve = hl_next_find("execve");
	real.execvpe = hl_next_find("execvpe");
	real.fexecve = hl_next_find("fexecve");
	real.execveat = hl_next_find("execveat");
	real.spawn = hl_next_find("posix_spawn");
	real.spawnp = hl_next_find("posix_spawnp");
}

/* Before our constructor there is nothing to announce. False: the real functions were not found. */
static bool emit_exec(void)
{
	struct hl_thread *t = hl_tls.thread;

	if (!real.execve)
		hl_exec_resolve();
	/* Behind a seccomp filter getpid() may be forbidden. If a vfork child then announces an
	 * exec, its parent's next record revokes it. */
	if (t && !t->shared && atomic_load(&hl_fork_page.ours) &&
		(hl_rec.no_syscalls || (uint32_t)hl_sys0(SYS_getpid) == hl_rec.pid))
		hl_emit_state(t, HL_REC_EXEC, NULL, 0, NULL, 0);
	if (real.execve && real.execvpe && real.fexecve && real.execveat)
		return true;
	errno = ENOSYS;
	return false;
}

/* The environment for a program, without the recorder if the program cannot run with it, else with
 * the session. Reports a program that is not recorded. The copy is in the caller's frame: between
 * vfork and exec there is no other memory. */
#define ENV_FOR(n, path, envp)                                                                     \
	((n).why ? hl_exec_probe_announce(&(n), path) : (void)0,                                   \
		(n).strip_preload                                                                  \
			? hl_exec_probe_env(envp, __builtin_alloca(hl_exec_probe_env_bytes(envp))) \
			: hl_session_variable_env(                                                 \
				  envp, __builtin_alloca(hl_session_variable_env_bytes(envp))))

int execve(const char *path, char *const argv[], char *const envp[])
{
	struct hl_exec_probe n = hl_exec_probe_path(AT_FDCWD, path, envp);

	return emit_exec() ? real.execve(path, argv, ENV_FOR(n, path, envp)) : -1;
}

int execv(const char *path, char *const argv[])
{
	return execve(path, argv, __environ);
}

static const char *find_own_path(void)
{
	for (char **e = __environ; e && *e; e++)
		if (!strncmp(*e, "PATH=", 5))
			return *e + 5;
	return "/bin:/usr/bin";
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct hl_exec_probe n = hl_exec_probe_file(file, find_own_path(), envp);

	return emit_exec() ? real.execvpe(file, argv, ENV_FOR(n, file, envp)) : -1;
}

int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, __environ);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct hl_exec_probe n = hl_exec_probe_fd(fd, envp);

	return emit_exec() ? real.fexecve(fd, argv, ENV_FOR(n, argv[0], envp)) : -1;
}

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct hl_exec_probe n =
		*path ? hl_exec_probe_path(dir, path, envp) : hl_exec_probe_fd(dir, envp);
	char *const *env;

	if (!emit_exec())
		return -1;
	env = ENV_FOR(n, *path ? path : argv[0], envp);
	return real.execveat(dir, path, argv, env, flags);
}

/* These do not replace this process, and the child announces nothing. */
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct hl_exec_probe n = hl_exec_probe_path(AT_FDCWD, path, envp);

	if (!real.spawn)
		hl_exec_resolve();
	return real.spawn ? real.spawn(pid, path, actions, attr, argv, ENV_FOR(n, path, envp))
			  : ENOSYS;
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct hl_exec_probe n = hl_exec_probe_file(file, find_own_path(), envp);

	if (!real.spawnp)
		hl_exec_resolve();
	return real.spawnp ? real.spawnp(pid, file, actions, attr, argv, ENV_FOR(n, file, envp))
			   : ENOSYS;
}

/* The length of an argument list that begins with `first` and ends with NULL. */
static size_t count_args(const char *first, va_list list)
{
	size_t n = 0;

	for (const char *word = first; word; word = va_arg(list, const char *))
		n++;
	return n;
}

static void copy_args(char **argv, const char *first, va_list list)
{
	size_t n = 0;

	for (const char *word = first; word; word = va_arg(list, const char *))
		argv[n++] = (char *)(uintptr_t)word;
	argv[n] = NULL;
}

/* On the stack, as libc does it: no malloc between vfork and exec. */
#define COLLECT_ARGS(argv, first, list)                                         \
	va_list list;                                                           \
	char **argv;                                                            \
	va_start(list, first);                                                  \
	argv = __builtin_alloca((count_args(first, list) + 1) * sizeof(*argv)); \
	va_end(list);                                                           \
	va_start(list, first);                                                  \
	copy_args(argv, first, list)

int execl(const char *path, const char *arg, ...)
{
	COLLECT_ARGS(argv, arg, list);
	va_end(list);
	return execv(path, argv);
}

int execlp(const char *file, const char *arg, ...)
{
	COLLECT_ARGS(argv, arg, list);
	va_end(list);
	return execvp(file, argv);
}

int execle(const char *path, const char *arg, ...)
{
	char *const *envp;

	COLLECT_ARGS(argv, arg, list);
	envp = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, envp);
}
