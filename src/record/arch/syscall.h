/* syscall.h - a system call of our own: see the contract in arch.h. */
#ifndef HL_RECORD_ARCH_SYSCALL_H
#define HL_RECORD_ARCH_SYSCALL_H

#include HL_ARCH_SYSCALL /* record/arch/<cpu>/syscall.h, chosen by the build */

#endif
