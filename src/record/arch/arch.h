/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch.h - the port contract: everything that depends on the CPU. Each architecture has a directory
 * with the same files; the build selects one directory.
 *
 * cpu.h has constants only, which the tool includes too:
 *   HL_ARCH_NAME              the CPU's name in traces and messages, as uname -m prints it
 *   HL_ARCH_ELF_MACHINE       e_machine of programs that can load the recorder
 *   HL_ARCH_MULTIARCH         the directory in lib/ where Debian installs libraries for this CPU
 *
 * regs.h defines, inline:
 *   struct hl_regs            the registers that a step needs: pc, sp, fp
 *   HL_ARCH_LIBC_VERSION      symbol version of malloc: that of the first glibc for this CPU
 *   hl_arch_stamp()           the cycle counter, unordered
 *   hl_arch_stamp_ordered()   the cycle counter, read after all earlier loads and stores of this
 *                             thread are done
 *   hl_arch_cmpxchg_local(p, from, to)  changes *p from `from` to `to` in one instruction, atomic
 *                             against signal handlers of this thread; true if *p was `from`
 *   hl_arch_pause()           the spin-wait hint
 *   struct hl_arch_frame      the memory at __builtin_frame_address(0) in a function that keeps a
 *                             frame pointer
 *   hl_arch_caller(frame)     the registers of the caller of such a function, while it runs
 *   HL_ARCH_REGISTERS         how many DWARF registers the unwinder tracks, and the numbers of
 *                             three of them: HL_ARCH_DW_SP, HL_ARCH_DW_FP, HL_ARCH_DW_PC
 *   HL_ARCH_CAPTURE_ALL(v)    all registers at this instruction, by DWARF number
 *   hl_arch_readable(addr)    one system call without effect: can the byte be read?
 *   hl_arch_on_altstack()     one system call without effect: is this the alternate signal stack?
 *   hl_arch_map(size), hl_arch_unmap(p, size)  new private memory; NULL if there is none
 *   hl_arch_release_pages(p, size)    releases the pages of such memory; it reads as zeros
 * afterwards
 *
 * step.h and unwind_step.c compile an unwind table row (cfi_row.h) to a rule of 28 bits, and step
 * to the caller's frame by a rule (walk.h). None of these functions changes errno.
 *
 * syscall.h: hl_sys0 .. hl_sys6(number, arguments): the result of the kernel; errno is not changed
 * clone.h:   hl_arch_clone(flags, stack top, fn, arg)
 * forward.h: HL_ARCH_FORWARD_BODY(a, b, watched, next), the body of a naked function syscall()
 */
#ifndef HL_RECORD_ARCH_H
#define HL_RECORD_ARCH_H

#include "record/arch/cpu.h"
#include HL_ARCH_REGS /* record/arch/<cpu>/regs.h, selected by the build */

/* The frame of the function that uses the macro, and the registers of its caller. */
#define HL_ARCH_FRAME()       ((const struct hl_arch_frame *)__builtin_frame_address(0))
#define HL_ARCH_CAPTURE(regs) (*(regs) = hl_arch_caller(HL_ARCH_FRAME()))

#endif
