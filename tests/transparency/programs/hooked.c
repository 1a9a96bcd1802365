/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooked.c - a preload of the user's own that hooks the same functions as the recorder: prints at
 * the end how often each was called.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int maps, unmaps, remaps, prctls, closes, execs;

#define NEXT(name) __typeof__(&name) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	maps++;
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
}

int munmap(void *addr, size_t len)
{
	NEXT(munmap);

	unmaps++;
	return next(addr, len);
}

void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	void *(*next)(void *, size_t, size_t, int, ...) = dlsym(RTLD_NEXT, "mremap");

	remaps++;
	return next(old, old_len, len, flags);
}

int prctl(int option, ...)
{
	int (*next)(int, long) = (int (*)(int, long))dlsym(RTLD_NEXT, "prctl");
	va_list ap;
	long a;

	va_start(ap, option);
	a = va_arg(ap, long);
	va_end(ap);
	prctls++;
	return next(option, a);
}

int dlclose(void *handle)
{
	NEXT(dlclose);

	closes++;
	return next(handle);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
	NEXT(execve);

	execs++;
	return next(path, argv, envp);
}

void _exit(int status)
{
	dprintf(1, "mmap %d, munmap %d, mremap %d, prctl %d, dlclose %d, execve %d, _exit %d\n",
		maps, unmaps, remaps, prctls, closes, execs, status);
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}
