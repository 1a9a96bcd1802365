/*
 * attr.h - what we tell the compiler. The only place, with record/arch, for its dialects.
 */
#ifndef HL_BASE_ATTR_H
#define HL_BASE_ATTR_H

#define hl_likely(x)   __builtin_expect(!!(x), 1)
#define hl_unlikely(x) __builtin_expect(!!(x), 0)

#define hl_cold     __attribute__((cold, noinline))
#define hl_noinline __attribute__((noinline))
#define hl_inline   static inline __attribute__((always_inline))
/* Into whoever calls it, also from another file where the two are optimised as one. */
#define hl_folded            __attribute__((always_inline)) inline
#define hl_export            __attribute__((visibility("default")))
#define hl_printf(fmt, args) __attribute__((format(printf, fmt, args)))

/* What must hold in code that may not print or abort: a trap in debug builds, nothing otherwise. */
#ifdef HL_DEBUG
#define hl_assert(x) ((x) ? (void)0 : __builtin_trap())
#else
#define hl_assert(x) ((void)0)
#endif

/*
 * Fetches a line that will soon be written to. The empty asm is there for GCC: of a function that
 * only fetches it believes that it does nothing at all, and leaves its calls out.
 */
hl_inline void hl_fetch(const void *p)
{
	__builtin_prefetch(p, 1);
	__asm__ volatile("");
}

#define HL_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
