/*
 * exec.c - the exec family: says that another program is about to take our place, then lets it.
 *
 * From outside an exec cannot be told from a process that lived on for a moment and ended. If the
 * call fails, the thread's next record takes the word back. A vfork child calls these in our memory
 * and a fork child that has done nothing yet has no trace to end: neither says anything. The real
 * functions are found before main: these may be called in signal handlers and between vfork and
 * exec.
 */
#include <errno.h>
#include <stdarg.h>
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

static struct {
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
	int (*execveat)(int, const char *, char *const[], char *const[], int);
} real;

void hl_exec_resolve(void)
{
	real.execve = hl_real_find("execve", NULL);
	real.execvpe = hl_real_find("execvpe", NULL);
	real.fexecve = hl_real_find("fexecve", NULL);
	real.execveat = hl_real_find("execveat", NULL);
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

int execve(const char *path, char *const argv[], char *const envp[])
{
	return note_exec() ? real.execve(path, argv, envp) : -1;
}

int execv(const char *path, char *const argv[])
{
	return note_exec() ? real.execve(path, argv, __environ) : -1;
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return note_exec() ? real.execvpe(file, argv, envp) : -1;
}

int execvp(const char *file, char *const argv[])
{
	return note_exec() ? real.execvpe(file, argv, __environ) : -1;
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
	return note_exec() ? real.fexecve(fd, argv, envp) : -1;
}

int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	return note_exec() ? real.execveat(dir, path, argv, envp, flags) : -1;
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
