/*
 * exec.c - the exec family: says that another program is about to take our place, then lets it;
 * without us in its environment if it cannot bear us (newcomer.c). A program that will not be
 * recorded is announced.
 *
 * From outside an exec cannot be told from a process that lived on for a moment and ended. If the
 * call fails, the thread's next record takes the word back. A vfork child calls these in our memory
 * and a fork child that has done nothing yet has no trace to end: neither says anything. The real
 * functions are found before main: these may be called in signal handlers and between vfork and
 * exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "record/arch/syscall.h"
#include "record/real.h"
#include "record/recorder.h"

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
	real.execve = hl_real_find("execve");
	real.execvpe = hl_real_find("execvpe");
	real.fexecve = hl_real_find("fexecve");
	real.execveat = hl_real_find("execveat");
	real.spawn = hl_real_find("posix_spawn");
	real.spawnp = hl_real_find("posix_spawnp");
}

/* Before our constructor there is nothing to call and nothing to say. */
static bool note_exec(void)
{
	struct hl_thread *t = hl_tls.thread;

	if (!real.execve)
		hl_exec_resolve();
	/* Behind a filter we may not ask; a vfork child's word is then taken back by its parent's
	 * next record. */
	if (t && !t->shared && atomic_load(&hl_alive.ours) &&
		(hl_rec.no_syscalls || (uint32_t)hl_sys0(SYS_getpid) == hl_rec.pid))
		hl_emit_state(t, HL_REC_EXEC, NULL, 0, NULL, 0);
	if (real.execve && real.execvpe && real.fexecve && real.execveat)
		return true;
	errno = ENOSYS;
	return false;
}

/* The environment for a program, without us if it cannot run with us; announces that. In the
 * caller's frame: there is no other memory between vfork and exec. */
#define ENV_FOR(n, path, envp)                                                               \
	((n).why ? hl_newcomer_announce(&(n), path) : (void)0,                               \
		(n).strips ? hl_newcomer_env(envp, __builtin_alloca(hl_newcomer_room(envp))) \
			   : (envp))

int execve(const char *path, char *const argv[], char *const envp[])
{
	struct hl_newcomer n = hl_newcomer_judge(AT_FDCWD, path, envp);

	return note_exec() ? real.execve(path, argv, ENV_FOR(n, path, envp)) : -1;
}

int execv(const char *path, char *const argv[])
{
	return execve(path, argv, __environ);
}

static const char *own_path(void)
{
	for (char **e = __environ; e && *e; e++)
		if (!strncmp(*e, "PATH=", 5))
			return *e + 5;
	return "/bin:/usr/bin";
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct hl_newcomer n = hl_newcomer_judge_file(file, own_path(), envp);

	return note_exec() ? real.execvpe(file, argv, ENV_FOR(n, file, envp)) : -1;
}

int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, __environ);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct hl_newcomer n = hl_newcomer_judge_fd(fd, envp);

	return note_exec() ? real.fexecve(fd, argv, ENV_FOR(n, argv[0], envp)) : -1;
}

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct hl_newcomer n =
		*path ? hl_newcomer_judge(dir, path, envp) : hl_newcomer_judge_fd(dir, envp);
	char *const *env;

	if (!note_exec())
		return -1;
	env = ENV_FOR(n, *path ? path : argv[0], envp);
	return real.execveat(dir, path, argv, env, flags);
}

/* These end nothing of ours: the child says no word about it. */
int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct hl_newcomer n = hl_newcomer_judge(AT_FDCWD, path, envp);

	if (!real.spawn)
		hl_exec_resolve();
	return real.spawn ? real.spawn(pid, path, actions, attr, argv, ENV_FOR(n, path, envp))
			  : ENOSYS;
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct hl_newcomer n = hl_newcomer_judge_file(file, own_path(), envp);

	if (!real.spawnp)
		hl_exec_resolve();
	return real.spawnp ? real.spawnp(pid, file, actions, attr, argv, ENV_FOR(n, file, envp))
			   : ENOSYS;
}

/* The words of a list that ends with NULL, `first` among them. */
static size_t count_words(const char *first, va_list list)
{
	size_t n = 0;

	for (const char *word = first; word; word = va_arg(list, const char *))
		n++;
	return n;
}

static void copy_words(char **argv, const char *first, va_list list)
{
	size_t n = 0;

	for (const char *word = first; word; word = va_arg(list, const char *))
		argv[n++] = (char *)(uintptr_t)word;
	argv[n] = NULL;
}

/* On the stack, as libc has it: no malloc between vfork and exec. */
#define LISTED(argv, first, list)                                                \
	va_list list;                                                            \
	char **argv;                                                             \
	va_start(list, first);                                                   \
	argv = __builtin_alloca((count_words(first, list) + 1) * sizeof(*argv)); \
	va_end(list);                                                            \
	va_start(list, first);                                                   \
	copy_words(argv, first, list)

int execl(const char *path, const char *arg, ...)
{
	LISTED(argv, arg, list);
	va_end(list);
	return execv(path, argv);
}

int execlp(const char *file, const char *arg, ...)
{
	LISTED(argv, arg, list);
	va_end(list);
	return execvp(file, argv);
}

int execle(const char *path, const char *arg, ...)
{
	char *const *envp;

	LISTED(argv, arg, list);
	envp = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, envp);
}
