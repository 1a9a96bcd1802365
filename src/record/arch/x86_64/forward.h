/*
 * forward.h - x86_64: the body of the C function syscall() that leaves no trace of itself.
 *
 * A clone on a new stack returns there, and a vfork child returns on its parent's: a wrapper with a
 * frame of its own would come back to a frame that is not there. So all but two numbers are a jump
 * to the next function, with registers and stack as they came.
 */
#ifndef HL_RECORD_ARCH_X86_64_FORWARD_H
#define HL_RECORD_ARCH_X86_64_FORWARD_H

#include <sys/syscall.h>

#define HL_FORWARD_TEXT_(x) #x
#define HL_FORWARD_TEXT(x)  HL_FORWARD_TEXT_(x)

/* Calls of the numbers `a` and `b`, and all while *next is NULL, go to `watched` instead. */
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
