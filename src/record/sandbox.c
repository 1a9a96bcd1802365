/*
 * sandbox.c - a program that gives up rights: seccomp, prctl. From then on a system call of ours,
 * or a look at the cycle counter, may be what kills it.
 *
 * The word goes out before the call is made and is taken back if the call fails: programs ask
 * whether the kernel has seccomp by a call that cannot succeed. Strict mode and PR_SET_TSC take the
 * counter away; a filter takes system calls alone. Rights that were given up before this program
 * began (its parent did) are found in /proc: by then the loader has opened, read and closed files,
 * so these calls are safe, and nothing else is.
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

#include "record/arch/forward.h"
#include "record/arch/syscall.h"
#include "record/real.h"
#include "record/recorder.h"

#define STATUS_BYTES 4096

hl_export int prctl(int option, ...);
/* Without its parameters: for variable ones a compiler saves registers even in a naked function. */
hl_export void hl_syscall(void) __asm__("syscall");

typedef long (*syscall_fn)(long, long, long, long, long, long, long);
typedef int (*prctl_fn)(int, long, long, long, long);

/* Seen by the assembler below. */
syscall_fn hl_sandbox_next;
long hl_sandbox_syscall(long number, long a, long b, long c, long d, long e, long f);

static prctl_fn next_prctl;
/* How many calls have forbidden it, or are about to. */
static _Atomic uint32_t no_clock, no_syscalls;

void hl_sandbox_resolve(void)
{
	hl_sandbox_next = (syscall_fn)hl_real_find("syscall");
	next_prctl = (prctl_fn)hl_real_find("prctl");
}

struct rights {
	bool clock, syscalls;
};

/* Which rights does this call take away? */
static struct rights taken_by(long number, long a, long b)
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

static void obey(void)
{
	if (!hl_rec.region)
		return;
	hl_rec.no_syscalls = atomic_load(&no_syscalls) != 0;
	hl_unwind_forbid_syscalls(hl_rec.no_syscalls);
	if (hl_rec.region->clock == HL_CLOCK_TSC)
		hl_rec.stamp_mode = atomic_load(&no_clock) ? HL_STAMP_NONE : HL_STAMP_TSC;
}

static void give_up(struct rights r)
{
	if (r.syscalls && hl_rec.region && !hl_rec.no_syscalls)
		hl_thread_reserve(); /* the last time that memory can be asked for */
	atomic_fetch_add(&no_clock, r.clock);
	atomic_fetch_add(&no_syscalls, r.syscalls);
	if (r.clock || r.syscalls)
		obey();
}

static void take_back(struct rights r)
{
	atomic_fetch_sub(&no_clock, r.clock);
	atomic_fetch_sub(&no_syscalls, r.syscalls);
	if (r.clock || r.syscalls)
		obey();
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
		hl_sandbox_resolve();
	r = taken_by(SYS_prctl, option, a[0]);
	give_up(r);
	ret = next_prctl(option, a[0], a[1], a[2], a[3]);
	if (ret < 0)
		take_back(r);
	else if (option == PR_SET_NAME)
		hl_names_self((const char *)a[0]);
	return ret;
}

long hl_sandbox_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	struct rights r = taken_by(number, a, b);
	long ret;

	if (!hl_sandbox_next)
		hl_sandbox_resolve();
	give_up(r);
	ret = hl_sandbox_next(number, a, b, c, d, e, f);
	if (ret < 0)
		take_back(r);
	return ret;
}

__attribute__((naked)) void hl_syscall(void)
{
	HL_ARCH_FORWARD_BODY(SYS_prctl, SYS_seccomp, hl_sandbox_syscall, hl_sandbox_next);
}

/* How many seccomp filters a process has; -1 when nobody says. */
static long filters_of(const char *status)
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

bool hl_sandbox_surrounds(const char *address)
{
	const char *usual = address ? strchr(address, '/') : NULL;
	long ours = filters_of("/proc/self/status"), theirs = 0;

	if (ours <= 0)
		return false;
	if (!address) {
		theirs = filters_of("/proc/1/status");
		return theirs >= 0 && ours > theirs;
	}
	for (usual = usual ? usual + 1 : ""; *usual >= '0' && *usual <= '9'; usual++)
		theirs = theirs * 10 + (*usual - '0');
	return ours > theirs;
}
