/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - x86_64: its name, in constants only. */
#ifndef HL_RECORD_ARCH_X86_64_CPU_H
#define HL_RECORD_ARCH_X86_64_CPU_H

#define HL_ARCH_NAME        "x86_64"
#define HL_ARCH_ELF_MACHINE 62 /* EM_X86_64 */
#define HL_ARCH_MULTIARCH   "x86_64-linux-gnu"

#endif
