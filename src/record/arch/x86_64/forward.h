/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.h - x86_64: the body of a C function syscall() that leaves registers and stack as they
 * are.
 *
 * A clone with a new stack returns on that stack, and a vfork child returns on its parent's. A
 * wrapper with its own frame would return to a frame that is not there. So calls of all but two
 * numbers jump to the next function.
 */
#ifndef HL_RECORD_ARCH_X86_64_FORWARD_H
#define HL_RECORD_ARCH_X86_64_FORWARD_H

#include <sys/syscall.h>

#define HL_FORWARD_TEXT_(x) #x
#define HL_FORWARD_TEXT(x)  HL_FORWARD_TEXT_(x)

/*
 * Calls with the numbers `a` and `b`, and all calls while *next is NULL, go to `watched` instead.
 */
#define HL_ARCH_FORWARD_BODY(a, b, watched, next)                                              \
	__asm__("endbr64\n\t"                                                                  \
		"cmpq $" HL_FORWARD_TEXT(a) ", %rdi\n\t"                                       \
					    "je " #watched "\n\t"                              \
					    "cmpq $" HL_FORWARD_TEXT(b) ", %rdi\n\t"           \
									"je " #watched "\n\t"  \
									"movq " #next          \
									"(%rip), %rax\n\t"     \
									"testq %rax, %rax\n\t" \
									"jz " #watched "\n\t"  \
									"jmp *%rax")

#endif
