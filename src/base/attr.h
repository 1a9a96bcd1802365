/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h - compiler attributes and builtins. Compiler-specific syntax is allowed only here and in
 * record/arch.
 */
#ifndef HL_BASE_ATTR_H
#define HL_BASE_ATTR_H

#define hl_likely(x)   __builtin_expect(!!(x), 1)
#define hl_unlikely(x) __builtin_expect(!!(x), 0)

#define hl_cold     __attribute__((cold, noinline))
#define hl_noinline __attribute__((noinline))
#define hl_inline   static inline __attribute__((always_inline))
/* Inlined into every caller, also across files when they are optimised together (LTO). */
#define hl_inline_extern     __attribute__((always_inline)) inline
#define hl_export            __attribute__((visibility("default")))
#define hl_printf(fmt, args) __attribute__((format(printf, fmt, args)))

/* An invariant in code that must not print or abort: a trap in debug builds, no code otherwise. */
#ifdef HL_DEBUG
#define hl_assert(x) ((x) ? (void)0 : __builtin_trap())
#else
#define hl_assert(x) ((void)0)
#endif

/*
 * Prefetches a cache line for writing. GCC treats a function that only prefetches as free of side
 * effects and drops calls to it; the empty asm prevents that.
 */
hl_inline void hl_prefetch_write(const void *p)
{
	__builtin_prefetch(p, 1);
	__asm__ volatile("");
}

#define HL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
