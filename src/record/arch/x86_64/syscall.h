/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall.h - x86_64 Linux: system calls that do not set errno and are not cancellation points.
 */
#ifndef HL_RECORD_ARCH_X86_64_SYSCALL_H
#define HL_RECORD_ARCH_X86_64_SYSCALL_H

#include <sys/syscall.h>

#include "base/attr.h"

/* Returns the result of the kernel, or -errno. */
hl_inline long hl_sys6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define hl_sys5(n, a, b, c, d, e) \
	hl_sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define hl_sys4(n, a, b, c, d) hl_sys5(n, a, b, c, d, 0)
#define hl_sys3(n, a, b, c)    hl_sys4(n, a, b, c, 0)
#define hl_sys2(n, a, b)       hl_sys3(n, a, b, 0)
#define hl_sys1(n, a)          hl_sys2(n, a, 0)
#define hl_sys0(n)             hl_sys1(n, 0)

#endif
