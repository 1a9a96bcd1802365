/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regs.h - x86_64: registers, the time stamp counter, and a compare-and-swap without a lock prefix,
 * because only this thread and its signal handlers access the word.
 */
#ifndef HL_RECORD_ARCH_X86_64_REGS_H
#define HL_RECORD_ARCH_X86_64_REGS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/attr.h"
#include "record/arch/x86_64/syscall.h"

#define HL_ARCH_STEP "record/arch/x86_64/step.h"

#define HL_ARCH_LIBC_VERSION "GLIBC_2.2.5"

struct hl_regs {
	uintptr_t pc, sp, fp;
};

/*
 * In a function with a frame pointer, the caller's rbp is at (rbp), the return address above it,
 * and the caller's stack pointer is the address above that.
 */
struct hl_arch_frame {
	uintptr_t fp, pc;
};

hl_inline struct hl_regs hl_arch_caller(const struct hl_arch_frame *frame)
{
	return (struct hl_regs){.pc = frame->pc, .sp = (uintptr_t)(frame + 1), .fp = frame->fp};
}

hl_inline uint64_t hl_arch_stamp(void)
{
	return __builtin_ia32_rdtsc();
}

hl_inline uint64_t hl_arch_stamp_ordered(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

hl_inline void hl_arch_pause(void)
{
	__builtin_ia32_pause();
}

hl_inline bool hl_arch_cmpxchg_local(uint64_t *p, uint64_t from, uint64_t to)
{
	bool done;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@cce"(done), "+m"(*p), "+a"(from)
			 : "r"(to)
			 : "memory");
	return done;
}

/* DWARF numbers of the psABI: 0-15 are rax rdx rcx rbx rsi rdi rbp rsp r8-r15. */
#define HL_ARCH_REGISTERS 17
#define HL_ARCH_DW_FP     6
#define HL_ARCH_DW_SP     7
#define HL_ARCH_DW_PC     16

/*
 * The callee-saved registers, and the pc of the instruction after the stores. At that pc the unwind
 * table of the enclosing function describes exactly this state.
 */
#define HL_ARCH_CAPTURE_ALL(v)                       \
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"    \
			 "movq %%rbp, 48(%0)\n\t"    \
			 "movq %%rsp, 56(%0)\n\t"    \
			 "movq %%r12, 96(%0)\n\t"    \
			 "movq %%r13, 104(%0)\n\t"   \
			 "movq %%r14, 112(%0)\n\t"   \
			 "movq %%r15, 120(%0)\n\t"   \
			 "leaq 0f(%%rip), %%rax\n\t" \
			 "movq %%rax, 128(%0)\n"     \
			 "0:"                        \
			 :                           \
			 : "c"(v)                    \
			 : "rax", "memory")

/*
 * The kernel copies the set in before it checks `how`: -EFAULT for an address that it cannot read,
 * -EINVAL otherwise. The signal mask does not change in either case.
 */
hl_inline bool hl_arch_readable(uintptr_t addr)
{
	return hl_sys4(SYS_rt_sigprocmask, -1, addr & ~(uintptr_t)7, 0, 8) != -14;
}

hl_inline bool hl_arch_on_altstack(void)
{
	stack_t current;

	if (hl_sys2(SYS_sigaltstack, 0, &current) < 0)
		return true; /* unknown: the safe answer */
	return current.ss_flags & SS_ONSTACK;
}

hl_inline void *hl_arch_map(size_t size)
{
	long p = hl_sys6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

hl_inline void hl_arch_release_pages(void *p, size_t size)
{
	hl_sys3(SYS_madvise, p, size, MADV_DONTNEED);
}

hl_inline void hl_arch_unmap(void *p, size_t size)
{
	hl_sys2(SYS_munmap, p, size);
}

#endif
