/*
 * first.c - goes into programs that are linked to libheaplapse.so, by our packages: the malloc
 * family in the program itself, which every library finds before any other, and leads to our hooks.
 *
 * So it does not matter where on the linker's command line another allocator stands. Each function
 * is one jump: whoever looks at the stack sees the caller, as if we were not here.
 */
#include <stddef.h>

extern const char heaplapse_first;
const char heaplapse_first = 1;

typedef size_t n;
typedef void *p;
typedef const void *t;

#define LEAD(type, hook, symbol, params, args)                                    \
	type heaplapse_hook_##hook params;                                        \
	type heaplapse_first_##hook params __asm__(symbol) __attribute__((weak)); \
	type heaplapse_first_##hook params                                        \
	{                                                                         \
		return heaplapse_hook_##hook args;                                \
	}

LEAD(p, malloc, "malloc", (n a), (a))
LEAD(p, calloc, "calloc", (n a, n b), (a, b))
LEAD(p, realloc, "realloc", (p a, n b), (a, b))
LEAD(p, reallocarray, "reallocarray", (p a, n b, n c), (a, b, c))
LEAD(int, posix_memalign, "posix_memalign", (p * a, n b, n c), (a, b, c))
LEAD(p, aligned_alloc, "aligned_alloc", (n a, n b), (a, b))
LEAD(p, memalign, "memalign", (n a, n b), (a, b))
LEAD(p, valloc, "valloc", (n a), (a))
LEAD(p, pvalloc, "pvalloc", (n a), (a))
LEAD(p, strdup, "strdup", (t a), (a))
LEAD(p, strndup, "strndup", (t a, n b), (a, b))
LEAD(p, NEW, "_Znwm", (n a), (a))
LEAD(p, NEW_ARRAY, "_Znam", (n a), (a))
LEAD(p, NEW_NOTHROW, "_ZnwmRKSt9nothrow_t", (n a, t b), (a, b))
LEAD(p, NEW_ARRAY_NOTHROW, "_ZnamRKSt9nothrow_t", (n a, t b), (a, b))
LEAD(p, NEW_ALIGN, "_ZnwmSt11align_val_t", (n a, n b), (a, b))
LEAD(p, NEW_ARRAY_ALIGN, "_ZnamSt11align_val_t", (n a, n b), (a, b))
LEAD(p, NEW_ALIGN_NOTHROW, "_ZnwmSt11align_val_tRKSt9nothrow_t", (n a, n b, t c), (a, b, c))
LEAD(p, NEW_ARRAY_ALIGN_NOTHROW, "_ZnamSt11align_val_tRKSt9nothrow_t", (n a, n b, t c), (a, b, c))
/* clang-format off */
#undef LEAD
#define LEAD(hook, symbol, params, args)                                \
	void heaplapse_hook_##hook params;                              \
	void heaplapse_first_##hook params __asm__(symbol) __attribute__((weak)); \
	void heaplapse_first_##hook params                              \
	{                                                               \
		heaplapse_hook_##hook args;                             \
	}
/* clang-format on */

LEAD(free, "free", (p a), (a))
LEAD(cfree, "cfree", (p a), (a))
LEAD(free_sized, "free_sized", (p a, n b), (a, b))
LEAD(free_aligned_sized, "free_aligned_sized", (p a, n b, n c), (a, b, c))
LEAD(DEL, "_ZdlPv", (p a), (a))
LEAD(DEL_ARRAY, "_ZdaPv", (p a), (a))
LEAD(DEL_NOTHROW, "_ZdlPvRKSt9nothrow_t", (p a, t b), (a, b))
LEAD(DEL_ARRAY_NOTHROW, "_ZdaPvRKSt9nothrow_t", (p a, t b), (a, b))
LEAD(DEL_SIZED, "_ZdlPvm", (p a, n b), (a, b))
LEAD(DEL_ARRAY_SIZED, "_ZdaPvm", (p a, n b), (a, b))
LEAD(DEL_ALIGN, "_ZdlPvSt11align_val_t", (p a, n b), (a, b))
LEAD(DEL_ARRAY_ALIGN, "_ZdaPvSt11align_val_t", (p a, n b), (a, b))
LEAD(DEL_ALIGN_NOTHROW, "_ZdlPvSt11align_val_tRKSt9nothrow_t", (p a, n b, t c), (a, b, c))
LEAD(DEL_ARRAY_ALIGN_NOTHROW, "_ZdaPvSt11align_val_tRKSt9nothrow_t", (p a, n b, t c), (a, b, c))
LEAD(DEL_SIZED_ALIGN, "_ZdlPvmSt11align_val_t", (p a, n b, n c), (a, b, c))
LEAD(DEL_ARRAY_SIZED_ALIGN, "_ZdaPvmSt11align_val_t", (p a, n b, n c), (a, b, c))
