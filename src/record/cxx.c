/*
 * cxx.c - operator new and delete, every form. Hooked because some allocators export their own,
 * and so that a report can tell new from malloc. The library's operators call malloc and one
 * another through us: guard.h knows them by the bounds of their functions.
 *
 * A program may bring operators of its own, and then the library's other forms call those. What
 * they do is theirs: the operators are passed on, and what comes of them at malloc and free is
 * recorded there, once.
 *
 * Of the language's own, those without an alignment are malloc and free, and a handler when there
 * is no memory. Where malloc would come back to us anyway and end in libc's, that is where the hook
 * goes at once; only a failure is theirs.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "record/cxx.h"
#include "record/hooks.h"
#include "record/lookup.h"

/* One row per operator: the real one, if there was one from the start. */
struct op {
	struct hl_cxx_real real;
	bool plain; /* what it calls is our malloc or free, and behind us is libc */
};

static struct op ops[HL_OP_COUNT];

const char *const hl_cxx_symbols[HL_OP_COUNT] = {
	[HL_OP_NEW] = "_Znwm",
	[HL_OP_NEW_ARRAY] = "_Znam",
	[HL_OP_NEW_NOTHROW] = "_ZnwmRKSt9nothrow_t",
	[HL_OP_NEW_ARRAY_NOTHROW] = "_ZnamRKSt9nothrow_t",
	[HL_OP_NEW_ALIGN] = "_ZnwmSt11align_val_t",
	[HL_OP_NEW_ARRAY_ALIGN] = "_ZnamSt11align_val_t",
	[HL_OP_NEW_ALIGN_NOTHROW] = "_ZnwmSt11align_val_tRKSt9nothrow_t",
	[HL_OP_NEW_ARRAY_ALIGN_NOTHROW] = "_ZnamSt11align_val_tRKSt9nothrow_t",
	[HL_OP_DEL] = "_ZdlPv",
	[HL_OP_DEL_ARRAY] = "_ZdaPv",
	[HL_OP_DEL_NOTHROW] = "_ZdlPvRKSt9nothrow_t",
	[HL_OP_DEL_ARRAY_NOTHROW] = "_ZdaPvRKSt9nothrow_t",
	[HL_OP_DEL_SIZED] = "_ZdlPvm",
	[HL_OP_DEL_ARRAY_SIZED] = "_ZdaPvm",
	[HL_OP_DEL_ALIGN] = "_ZdlPvSt11align_val_t",
	[HL_OP_DEL_ARRAY_ALIGN] = "_ZdaPvSt11align_val_t",
	[HL_OP_DEL_ALIGN_NOTHROW] = "_ZdlPvSt11align_val_tRKSt9nothrow_t",
	[HL_OP_DEL_ARRAY_ALIGN_NOTHROW] = "_ZdaPvSt11align_val_tRKSt9nothrow_t",
	[HL_OP_DEL_SIZED_ALIGN] = "_ZdlPvmSt11align_val_t",
	[HL_OP_DEL_ARRAY_SIZED_ALIGN] = "_ZdaPvmSt11align_val_t",
};

/* The code of operators whose calls are their own: of each library once, and for ever. */
static struct {
	uintptr_t lo, hi;
} known[8 * HL_OP_COUNT];
static _Atomic unsigned n_known;

bool hl_cxx_owns(uintptr_t pc)
{
	unsigned n = atomic_load_explicit(&n_known, memory_order_acquire);

	for (unsigned i = 0; i < n; i++)
		if (pc >= known[i].lo && pc < known[i].hi)
			return true;
	return false;
}

/* Two threads may be here at once: then one of the two is known the next time. */
hl_cold void hl_cxx_know(void *f)
{
	unsigned n = atomic_load(&n_known);
	uintptr_t lo, hi;

	if (n == HL_ARRAY_LEN(known) || hl_cxx_owns((uintptr_t)f) ||
		hl_unwind_init(hl_modules_on_found) != 0 ||
		!hl_unwind_function_range((uintptr_t)f, &lo, &hi))
		return;
	known[n].lo = lo;
	known[n].hi = hi;
	atomic_compare_exchange_strong(&n_known, &n, n + 1);
}

/* Some operator is neither an allocator's nor the language's: any of the language's may end in it.
 */
static bool program_has_own;

hl_cold static bool is_allocators(uintptr_t f)
{
	return f >= hl_real.text_lo && f < hl_real.text_hi;
}

hl_cold bool hl_cxx_is_standard(uintptr_t f)
{
	struct dl_find_object object;
	const char *name;

	if (_dl_find_object((void *)f, &object) != 0)
		return false;
	name = hl_lookup_file_name(object.dlfo_link_map->l_name);
	return !strncmp(name, "libstdc++.", 10) || !strncmp(name, "libc++", 6);
}

/* Before us, in the program, or behind us, in a library of its own. */
hl_cold static bool is_replaced(const char *symbol)
{
	uintptr_t next = hl_real.cxx ? (uintptr_t)dlsym(RTLD_NEXT, symbol) : 0;

	return !hl_real_is_first(symbol) ||
	       (next && !is_allocators(next) && !hl_cxx_is_standard(next));
}

/* Of an allocator's own operators, and of the language's, we know that they return what they get.
 */
hl_cold static bool is_ours_to_record(uintptr_t real)
{
	return is_allocators(real) || (hl_cxx_is_standard(real) && !program_has_own);
}

hl_cold static void keep(enum hl_cxx_op i, void *real)
{
	ops[i].real.passed_on = !is_ours_to_record((uintptr_t)real);
	if (!ops[i].real.passed_on)
		hl_cxx_know(real);
	/* An allocator's may end in the language's. */
	if (is_allocators((uintptr_t)real)) {
		void *next = hl_lookup_after(hl_cxx_symbols[i], (uintptr_t)real);

		if (next)
			hl_cxx_know(next);
	}
	ops[i].real.f = real;
}

/* No form with an alignment. */
hl_cold static bool is_plain(enum hl_cxx_op i)
{
	return (i < HL_OP_NEW_ALIGN || (i >= HL_OP_DEL && i < HL_OP_DEL_ALIGN)) && ops[i].real.f &&
	       !ops[i].real.passed_on && hl_cxx_is_standard((uintptr_t)ops[i].real.f);
}

/*
 * A malloc or free before us sees what the operators do, whether it is a wrapper that comes back to
 * us or an allocator that does not: then too it is recorded there, if at all.
 */
hl_cold void hl_cxx_resolve(void)
{
	hl_tls.busy = true;
	program_has_own = !hl_real_is_first("malloc") || !hl_real_is_first("free");
	for (int i = 0; i < HL_OP_COUNT; i++)
		program_has_own |= is_replaced(hl_cxx_symbols[i]);
	for (int i = 0; i < HL_OP_COUNT && hl_real.cxx; i++) {
		void *real = dlsym(RTLD_NEXT, hl_cxx_symbols[i]);

		if (real)
			keep((enum hl_cxx_op)i, real);
		ops[i].plain = !hl_real.foreign && is_plain((enum hl_cxx_op)i);
	}
	hl_tls.busy = false;
}

/* No C++ library anywhere: then nobody can expect an exception either. */
typedef void *(*new_fn)(size_t, uintptr_t, const void *);
typedef void (*del_fn)(void *, uintptr_t, uintptr_t, const void *);

/*
 * One body for all forms: the operators take one to three words in registers, and passing more than
 * one reads is harmless in the System V calling convention.
 */
static hl_noinline void *new_by_next(new_fn real, uint32_t func, size_t size, uintptr_t a,
	const void *b, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	uintptr_t saved = hl_tls.guard;
	void *p;

	if (hl_unlikely(!real))
		return hl_real.malloc(size ? size : 1);
	if (hl_unlikely(hl_internal(&regs)))
		return real(size, a, b);
	hl_tls.guard = regs.sp;
	p = real(size, a, b);
	hl_tls.guard = saved;
	if (hl_steer_passes_alloc(hl_steer(), p ? size : 0))
		return p;
	return hl_hook_made(p, hook, func, size);
}

static hl_noinline void delete_by_next(del_fn real, uint32_t func, void *p, uintptr_t a,
	uintptr_t b, const void *c, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	uintptr_t saved = hl_tls.guard;

	if (hl_unlikely(!real)) {
		hl_real.free(p);
		return;
	}
	if (hl_unlikely(hl_internal(&regs))) {
		real(p, a, b, c);
		return;
	}
	if (!hl_steer_passes_free(hl_steer(), p))
		hl_hook_gone(p, hook, func);
	hl_tls.guard = regs.sp;
	real(p, a, b, c);
	hl_tls.guard = saved;
}

/*
 * Inlined into each operator, so that what is captured is the operator's caller; and so that what
 * is passed on is a jump, and nobody sees us on the stack.
 */
hl_inline void *op_new(enum hl_cxx_op i, uint32_t func, size_t size, uintptr_t a, const void *b)
{
	struct hl_cxx_real real = ops[i].real;

	if (hl_unlikely(!real.f))
		real = hl_cxx_late(i, (uintptr_t)__builtin_return_address(0));
	if (hl_unlikely(real.passed_on))
		return ((new_fn)real.f)(size, a, b);
	if (hl_likely(ops[i].plain && !hl_tls.guard)) {
		bool passes = hl_hook_passes_alloc(size);
		void *p = hl_real.malloc(size ? size : 1);

		if (hl_likely(p && passes))
			return p;
		if (hl_likely(p != NULL))
			return HL_STAYING(hl_hook_made(p, HL_ARCH_FRAME(), func, size));
	}
	return HL_STAYING(new_by_next((new_fn)real.f, func, size, a, b, HL_ARCH_FRAME()));
}

hl_inline void op_delete(
	enum hl_cxx_op i, uint32_t func, void *p, uintptr_t a, uintptr_t b, const void *c)
{
	struct hl_cxx_real real = ops[i].real;

	if (hl_unlikely(!real.f))
		real = hl_cxx_late(i, (uintptr_t)__builtin_return_address(0));
	if (hl_unlikely(real.passed_on)) {
		((del_fn)real.f)(p, a, b, c);
		return;
	}
	if (hl_unlikely(!p || hl_boot_owns(p)))
		return;
	if (hl_likely(ops[i].plain && !hl_tls.guard)) {
		if (!hl_hook_passes_free(p))
			hl_hook_gone(p, HL_ARCH_FRAME(), func);
		hl_real.free(p);
		return;
	}
	delete_by_next((del_fn)real.f, func, p, a, b, c, HL_ARCH_FRAME());
	HL_STAY();
}

#define NEW_OP(i, symbol, func, params, a, b)                                     \
	hl_export void *hl_op_##i params __asm__(symbol);                         \
	hl_export void *heaplapse_hook_##i params __attribute__((alias(symbol))); \
	void *hl_op_##i params                                                    \
	{                                                                         \
		return op_new(HL_OP_##i, func, size, a, b);                       \
	}

#define DEL_OP(i, symbol, func, params, a, b, c)                                 \
	hl_export void hl_op_##i params __asm__(symbol);                         \
	hl_export void heaplapse_hook_##i params __attribute__((alias(symbol))); \
	void hl_op_##i params                                                    \
	{                                                                        \
		op_delete(HL_OP_##i, func, p, a, b, c);                          \
	}

#define N HL_FUNC_NEW
#define A HL_FUNC_NEW_ARRAY
#define D HL_FUNC_DELETE
#define E HL_FUNC_DELETE_ARRAY
typedef const void *nothrow;

NEW_OP(NEW, "_Znwm", N, (size_t size), 0, NULL)
NEW_OP(NEW_ARRAY, "_Znam", A, (size_t size), 0, NULL)
NEW_OP(NEW_NOTHROW, "_ZnwmRKSt9nothrow_t", N, (size_t size, nothrow t), (uintptr_t)t, NULL)
NEW_OP(NEW_ARRAY_NOTHROW, "_ZnamRKSt9nothrow_t", A, (size_t size, nothrow t), (uintptr_t)t, NULL)
NEW_OP(NEW_ALIGN, "_ZnwmSt11align_val_t", N, (size_t size, size_t al), al, NULL)
NEW_OP(NEW_ARRAY_ALIGN, "_ZnamSt11align_val_t", A, (size_t size, size_t al), al, NULL)
NEW_OP(NEW_ALIGN_NOTHROW, "_ZnwmSt11align_val_tRKSt9nothrow_t", N,
	(size_t size, size_t al, nothrow t), al, t)
NEW_OP(NEW_ARRAY_ALIGN_NOTHROW, "_ZnamSt11align_val_tRKSt9nothrow_t", A,
	(size_t size, size_t al, nothrow t), al, t)

DEL_OP(DEL, "_ZdlPv", D, (void *p), 0, 0, NULL)
DEL_OP(DEL_ARRAY, "_ZdaPv", E, (void *p), 0, 0, NULL)
DEL_OP(DEL_NOTHROW, "_ZdlPvRKSt9nothrow_t", D, (void *p, nothrow t), (uintptr_t)t, 0, NULL)
DEL_OP(DEL_ARRAY_NOTHROW, "_ZdaPvRKSt9nothrow_t", E, (void *p, nothrow t), (uintptr_t)t, 0, NULL)
DEL_OP(DEL_SIZED, "_ZdlPvm", D, (void *p, size_t n), n, 0, NULL)
DEL_OP(DEL_ARRAY_SIZED, "_ZdaPvm", E, (void *p, size_t n), n, 0, NULL)
DEL_OP(DEL_ALIGN, "_ZdlPvSt11align_val_t", D, (void *p, size_t al), al, 0, NULL)
DEL_OP(DEL_ARRAY_ALIGN, "_ZdaPvSt11align_val_t", E, (void *p, size_t al), al, 0, NULL)
DEL_OP(DEL_ALIGN_NOTHROW, "_ZdlPvSt11align_val_tRKSt9nothrow_t", D, (void *p, size_t al, nothrow t),
	al, (uintptr_t)t, NULL)
DEL_OP(DEL_ARRAY_ALIGN_NOTHROW, "_ZdaPvSt11align_val_tRKSt9nothrow_t", E,
	(void *p, size_t al, nothrow t), al, (uintptr_t)t, NULL)
DEL_OP(DEL_SIZED_ALIGN, "_ZdlPvmSt11align_val_t", D, (void *p, size_t n, size_t al), n, al, NULL)
DEL_OP(DEL_ARRAY_SIZED_ALIGN, "_ZdaPvmSt11align_val_t", E, (void *p, size_t n, size_t al), n, al,
	NULL)
