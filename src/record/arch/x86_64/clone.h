/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone.h - x86_64: starts a child process that shares our memory and runs a function on its own
 * stack.
 */
#ifndef HL_RECORD_ARCH_X86_64_CLONE_H
#define HL_RECORD_ARCH_X86_64_CLONE_H

#include <sys/syscall.h>

#include "base/attr.h"

/*
 * Returns the id of the child, or -errno. `stack` is the top of its stack, 16-byte aligned; fn must
 * not return.
 */
static inline long hl_arch_clone(unsigned long flags, void *stack, int (*fn)(void *), void *arg)
{
	long ret;

	__asm__ volatile(
		"xor %%r8d, %%r8d\n\t"
		"xor %%r10d, %%r10d\n\t"
		"xor %%edx, %%edx\n\t"
		"syscall\n\t"
		"test %%rax, %%rax\n\t"
		"jnz 1f\n\t"
		"xor %%ebp, %%ebp\n\t"
		"mov %[arg], %%rdi\n\t"
		"call *%[fn]\n\t"
		"hlt\n"
		"1:"
		: "=a"(ret)
		: "a"(SYS_clone), "D"(flags), "S"(stack), [fn] "b"(fn), [arg] "r"((long)arg)
		: "rcx", "rdx", "r8", "r10", "r11", "memory");
	return ret;
}

#endif
