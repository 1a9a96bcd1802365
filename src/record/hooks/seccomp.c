/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seccomp.c - a program that gives up rights by seccomp or prctl. From then on a system call of the
 * recorder, or a read of the cycle counter, may kill the program.
 *
 * The rights are dropped here before the call and restored if the call fails: programs test for
 * seccomp by a call that cannot succeed. Strict mode and PR_SET_TSC take the counter away; a filter
 * takes only system calls away. Rights that were given up before this program started (by its
 * parent) are read from /proc. By then the loader has opened, read and closed files, so these calls
 * are safe, and no others are.
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

#include "record/arch/forward.h"
#include "record/arch/syscall.h"
#include "record/interpose/next.h"
#include "record/session/recorder.h"
#include "record/hooks/seccomp.h"
#include "record/hooks/thread_name.h"
#include "record/session/thread.h"

#define STATUS_BYTES 4096

hl_export int prctl(int option, ...);
/* Declared without parameters: for a variadic function a compiler saves registers even in a naked
 * function. */
hl_export void hl_syscall(void) __asm__("syscall");

typedef long (*syscall_fn)(long, long, long, long, long, long, long);
typedef int (*prctl_fn)(int, long, long, long, long);

/* Used by the assembler code below. */
syscall_fn hl_seccomp_next;
long hl_seccomp_syscall(long number, long a, long b, long c, long d, long e, long f);

static prctl_fn next_prctl;
/* The number of calls that have taken the right away, or are about to. */
static _Atomic uint32_t no_clock, no_syscalls;

void hl_seccomp_resolve(void)
{
	hl_seccomp_next = (syscall_fn)hl_next_find("syscall");
	next_prctl = (prctl_fn)hl_next_find("prctl");
}

struct rights {
	bool clock, syscalls;
};

/* The rights that this call takes away. */
static struct rights find_taken_rights(long number, long a, long b)
{
	struct rights r = {0};

	if (number == SYS_prctl) {
		r.syscalls = a == PR_SET_SECCOMP;
		r.clock = (a == PR_SET_SECCOMP && b == SECCOMP_MODE_STRICT) ||
			  (a == PR_SET_TSC && b == PR_TSC_SIGSEGV);
	} else if (number == SYS_seccomp) {
		r.syscalls = a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER;
		r.clock = a == SECCOMP_SET_MODE_STRICT;
	}
	return r;
}

static void apply_rights(void)
{
	if (!hl_rec.region)
		return;
	hl_rec.no_syscalls = atomic_load(&no_syscalls) != 0;
	hl_unwind_forbid_syscalls(hl_rec.no_syscalls);
	if (hl_rec.region->clock == HL_CLOCK_TSC)
		hl_rec.stamp_mode = atomic_load(&no_clock) ? HL_STAMP_NONE : HL_STAMP_TSC;
}

static void drop_rights(struct rights r)
{
	if (r.syscalls && hl_rec.region && !hl_rec.no_syscalls)
		hl_thread_reserve(); /* the last chance to map memory */
	atomic_fetch_add(&no_clock, r.clock);
	atomic_fetch_add(&no_syscalls, r.syscalls);
	if (r.clock || r.syscalls)
		apply_rights();
}

static void restore_rights(struct rights r)
{
	atomic_fetch_sub(&no_clock, r.clock);
	atomic_fetch_sub(&no_syscalls, r.syscalls);
	if (r.clock || r.syscalls)
		apply_rights();
}

int prctl(int option, ...)
{
	struct rights r;
	long a[4];
	va_list ap;
	int ret;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!next_prctl)
		hl_seccomp_resolve();
	r = find_taken_rights(SYS_prctl, option, a[0]);
	drop_rights(r);
	ret = next_prctl(option, a[0], a[1], a[2], a[3]);
	if (ret < 0)
		restore_rights(r);
	else if (option == PR_SET_NAME)
		hl_thread_name_self((const char *)a[0]);
	return ret;
}

long hl_seccomp_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	struct rights r = find_taken_rights(number, a, b);
	long ret;

	if (!hl_seccomp_next)
		hl_seccomp_resolve();
	drop_rights(r);
	ret = hl_seccomp_next(number, a, b, c, d, e, f);
	if (ret < 0)
		restore_rights(r);
	return ret;
}

__attribute__((naked)) void hl_syscall(void)
{
	HL_ARCH_FORWARD_BODY(SYS_prctl, SYS_seccomp, hl_seccomp_syscall, hl_seccomp_next);
}

/* The number of seccomp filters of a process; -1 if the kernel does not report it. */
static long count_filters(const char *status)
{
	static const char line[] = "\nSeccomp_filters:\t";
	char text[STATUS_BYTES];
	long fd = hl_sys4(SYS_openat, AT_FDCWD, status, O_RDONLY | O_CLOEXEC, 0), n, filters = 0;
	const char *at;

	if (fd < 0)
		return -1;
	n = hl_sys3(SYS_read, fd, text, sizeof(text) - 1);
	hl_sys1(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	for (at = text; (at = strchr(at, '\n')); at++)
		if (!strncmp(at, line, sizeof(line) - 1))
			break;
	if (!at)
		return -1;
	for (at += sizeof(line) - 1; *at >= '0' && *at <= '9'; at++)
		filters = filters * 10 + (*at - '0');
	return filters;
}

bool hl_seccomp_is_inherited(const char *address)
{
	const char *expected = address ? strchr(address, '/') : NULL;
	long ours = count_filters("/proc/self/status"), theirs = 0;

	if (ours <= 0)
		return false;
	if (!address) {
		theirs = count_filters("/proc/1/status");
		return theirs >= 0 && ours > theirs;
	}
	for (expected = expected ? expected + 1 : ""; *expected >= '0' && *expected <= '9';
		expected++)
		theirs = theirs * 10 + (*expected - '0');
	return ours > theirs;
}
