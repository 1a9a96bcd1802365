/*
 * arch.h - the port contract: all that depends on the machine. One folder per architecture holds
 * the same files; the build takes one folder.
 *
 * regs.h defines, inline:
 *   struct hl_regs            what a step needs of a frame: pc, sp, fp
 *   HL_ARCH_ELF_MACHINE       e_machine of programs that can load us
 *   HL_ARCH_LIBC_VERSION      symbol version of glibc's first release for it, malloc's version
 *   hl_arch_stamp()           the cycle counter, unordered; hl_arch_stamp_ordered(): not taken
 *                             before earlier loads and stores of this thread have been seen by it
 *   hl_arch_cmpxchg_local(p, from, to)  *p from one to the other in one instruction, atomic against
 *                             this thread's own signals; true when it took place
 *   hl_arch_pause()           a hint that we spin
 *   struct hl_arch_frame      what lies where __builtin_frame_address(0) points in a function that
 *                             keeps a frame pointer
 *   hl_arch_caller(frame)     the state of the caller of such a function, while it runs
 *   HL_ARCH_REGISTERS         how many DWARF registers the unwinder follows, and the numbers of
 *                             three of them: HL_ARCH_DW_SP, HL_ARCH_DW_FP, HL_ARCH_DW_PC
 *   HL_ARCH_CAPTURE_ALL(v)    all registers at this very instruction, by DWARF number
 *   hl_arch_readable(addr)    one harmless syscall: may the byte be read?
 *   hl_arch_on_altstack()     one harmless syscall: are we on the alternate signal stack?
 *   hl_arch_map(size), hl_arch_unmap(p, size)  fresh private memory, NULL when there is none
 *   hl_arch_empty(p, size)    the same, which is zeros from now on and takes no memory
 *
 * step.h and unwind_step.c turn what the unwind tables say (cfi.h) into a rule of 28 bits and walk
 * one frame by it (walk.h). None of these touches errno.
 *
 * syscall.h: hl_sys0 .. hl_sys6(number, arguments): the kernel's answer, errno untouched
 * clone.h: hl_arch_clone(flags, stack top, fn, arg)
 * forward.h: HL_ARCH_FORWARD_BODY(a, b, watched, next), the whole body of a naked function
 * syscall()
 */
#ifndef HL_RECORD_ARCH_H
#define HL_RECORD_ARCH_H

#include HL_ARCH_REGS /* record/arch/<cpu>/regs.h, chosen by the build */

/* The frame of the function that this stands in, and the state of its caller. */
#define HL_ARCH_FRAME()       ((const struct hl_arch_frame *)__builtin_frame_address(0))
#define HL_ARCH_CAPTURE(regs) (*(regs) = hl_arch_caller(HL_ARCH_FRAME()))

#endif
