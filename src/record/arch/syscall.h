/* SPDX-License-Identifier: Apache-2.0 */
/* syscall.h - direct system calls: see the contract in arch.h. */
#ifndef HL_RECORD_ARCH_SYSCALL_H
#define HL_RECORD_ARCH_SYSCALL_H

#include HL_ARCH_SYSCALL /* record/arch/<cpu>/syscall.h, selected by the build */

#endif
