/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_shim.c - part of programs that our packages link to libheaplapse.so: the malloc family,
 * defined in the program itself, where every library finds it first. Each function forwards to our
 * hook.
 *
 * So the position of another allocator on the linker's command line does not matter. Each function
 * is a single jump and adds no frame: the stack looks as if the shim did not exist.
 */
#include <stddef.h>

extern const char heaplapse_first;
const char heaplapse_first = 1;

typedef size_t n;
typedef void *p;
typedef const void *t;

#define FORWARD(type, hook, symbol, params, args)                                 \
	type heaplapse_hook_##hook params;                                        \
	type heaplapse_first_##hook params __asm__(symbol) __attribute__((weak)); \
	type heaplapse_first_##hook params                                        \
	{                                                                         \
		return heaplapse_hook_##hook args;                                \
	}

FORWARD(p, malloc, "malloc", (n a), (a))
FORWARD(p, calloc, "calloc", (n a, n b), (a, b))
FORWARD(p, realloc, "realloc", (p a, n b), (a, b))
FORWARD(p, reallocarray, "reallocarray", (p a, n b, n c), (a, b, c))
FORWARD(int, posix_memalign, "posix_memalign", (p * a, n b, n c), (a, b, c))
FORWARD(p, aligned_alloc, "aligned_alloc", (n a, n b), (a, b))
FORWARD(p, memalign, "memalign", (n a, n b), (a, b))
FORWARD(p, valloc, "valloc", (n a), (a))
FORWARD(p, pvalloc, "pvalloc", (n a), (a))
FORWARD(p, strdup, "strdup", (t a), (a))
FORWARD(p, strndup, "strndup", (t a, n b), (a, b))
FORWARD(p, NEW, "_Znwm", (n a), (a))
FORWARD(p, NEW_ARRAY, "_Znam", (n a), (a))
FORWARD(p, NEW_NOTHROW, "_ZnwmRKSt9nothrow_t", (n a, t b), (a, b))
FORWARD(p, NEW_ARRAY_NOTHROW, "_ZnamRKSt9nothrow_t", (n a, t b), (a, b))
FORWARD(p, NEW_ALIGN, "_ZnwmSt11align_val_t", (n a, n b), (a, b))
FORWARD(p, NEW_ARRAY_ALIGN, "_ZnamSt11align_val_t", (n a, n b), (a, b))
FORWARD(p, NEW_ALIGN_NOTHROW, "_ZnwmSt11align_val_tRKSt9nothrow_t", (n a, n b, t c), (a, b, c))
FORWARD(p, NEW_ARRAY_ALIGN_NOTHROW, "_ZnamSt11align_val_tRKSt9nothrow_t", (n a, n b, t c),
	(a, b, c))
/* clang-format off */
#undef FORWARD
#define FORWARD(hook, symbol, params, args)                                \
	void heaplapse_hook_##hook params;                              \
	void heaplapse_first_##hook params __asm__(symbol) __attribute__((weak)); \
	void heaplapse_first_##hook params                              \
	{                                                               \
		heaplapse_hook_##hook args;                             \
	}
/* clang-format on */

FORWARD(free, "free", (p a), (a))
FORWARD(cfree, "cfree", (p a), (a))
FORWARD(free_sized, "free_sized", (p a, n b), (a, b))
FORWARD(free_aligned_sized, "free_aligned_sized", (p a, n b, n c), (a, b, c))
FORWARD(DEL, "_ZdlPv", (p a), (a))
FORWARD(DEL_ARRAY, "_ZdaPv", (p a), (a))
FORWARD(DEL_NOTHROW, "_ZdlPvRKSt9nothrow_t", (p a, t b), (a, b))
FORWARD(DEL_ARRAY_NOTHROW, "_ZdaPvRKSt9nothrow_t", (p a, t b), (a, b))
FORWARD(DEL_SIZED, "_ZdlPvm", (p a, n b), (a, b))
FORWARD(DEL_ARRAY_SIZED, "_ZdaPvm", (p a, n b), (a, b))
FORWARD(DEL_ALIGN, "_ZdlPvSt11align_val_t", (p a, n b), (a, b))
FORWARD(DEL_ARRAY_ALIGN, "_ZdaPvSt11align_val_t", (p a, n b), (a, b))
FORWARD(DEL_ALIGN_NOTHROW, "_ZdlPvSt11align_val_tRKSt9nothrow_t", (p a, n b, t c), (a, b, c))
FORWARD(DEL_ARRAY_ALIGN_NOTHROW, "_ZdaPvSt11align_val_tRKSt9nothrow_t", (p a, n b, t c), (a, b, c))
FORWARD(DEL_SIZED_ALIGN, "_ZdlPvmSt11align_val_t", (p a, n b, n c), (a, b, c))
FORWARD(DEL_ARRAY_SIZED_ALIGN, "_ZdaPvmSt11align_val_t", (p a, n b, n c), (a, b, c))
