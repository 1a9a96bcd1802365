/*
 * regs.h - x86_64: registers, the time stamp counter, and instructions that need no lock
 * prefix because only this thread and its signal handlers touch the word.
 */
#ifndef HL_RECORD_ARCH_X86_64_REGS_H
#define HL_RECORD_ARCH_X86_64_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct hl_regs {
	uintptr_t pc, sp, fp;
};

/*
 * A function with a frame pointer has its caller's rbp at (rbp), the return address above it,
 * and the caller's stack pointer above that.
 */
#define HL_ARCH_CAPTURE(regs)                                                    \
	do {                                                                     \
		const uintptr_t *hl_fa = __builtin_frame_address(0);             \
		(regs)->fp = hl_fa[0];                                           \
		(regs)->pc = hl_fa[1];                                           \
		(regs)->sp = (uintptr_t)(hl_fa + 2);                             \
	} while (0)

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

hl_inline void hl_arch_or_local(uint64_t *p, uint64_t v)
{
	__asm__ volatile("orq %1, %0" : "+m"(*p) : "er"(v) : "memory", "cc");
}

hl_inline bool hl_arch_cmpxchg_local(uint64_t *p, uint64_t from, uint64_t to)
{
	bool done;

	__asm__ volatile("cmpxchgq %3, %1" : "=@cce"(done), "+m"(*p), "+a"(from) : "r"(to) : "memory");
	return done;
}

#endif
