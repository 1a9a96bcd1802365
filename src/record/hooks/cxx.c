/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cxx.c - operator new and delete, all forms. They are hooked because some allocators export their
 * own, and so that a report can distinguish new from malloc. The standard library's operators call
 * malloc and one another through our hooks; reentry.h recognizes these calls by the address ranges
 * of the operators.
 *
 * A program may define operators of its own, and then the standard library's other forms call
 * those. Such operators are passed through without an event: the malloc and free calls that they
 * make are recorded, once.
 *
 * The standard library's operators without an alignment are malloc and free, plus the new handler
 * if there is no memory. If that malloc would come back to us and end in libc's, the hook calls
 * libc's directly; only a failed allocation goes to the real operator.
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "record/hooks/cxx.h"
#include "record/hooks/hooks.h"
#include "record/interpose/elf_lookup.h"
#include "record/session/modules.h"

/* One entry per operator: the real one, if it existed from the start. */
struct op {
	struct hl_cxx_next real;
	bool plain; /* it calls our malloc or free, and the next allocator is libc's */
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

/* Address ranges of operators whose calls are internal. Each library is added once and never
 * removed. */
static struct {
	uintptr_t lo, hi;
} internal[8 * HL_OP_COUNT];
static _Atomic unsigned n_internal;

bool hl_cxx_is_internal(uintptr_t pc)
{
	unsigned n = atomic_load_explicit(&n_internal, memory_order_acquire);

	for (unsigned i = 0; i < n; i++)
		if (pc >= internal[i].lo && pc < internal[i].hi)
			return true;
	return false;
}

/* Two threads may add at once: then only one of the two ranges is kept, and the other is added the
 * next time. */
hl_cold void hl_cxx_add_internal(void *f)
{
	unsigned n = atomic_load(&n_internal);
	uintptr_t lo, hi;

	if (n == HL_ARRAY_LEN(internal) || hl_cxx_is_internal((uintptr_t)f) ||
		hl_unwind_init(hl_modules_on_found) != 0 ||
		!hl_unwind_function_range((uintptr_t)f, &lo, &hi))
		return;
	internal[n].lo = lo;
	internal[n].hi = hi;
	atomic_compare_exchange_strong(&n_internal, &n, n + 1);
}

/* Some operator belongs neither to an allocator nor to the standard library. Any operator of the
 * standard library may call it. */
static bool has_custom_operators;

hl_cold static bool is_in_allocator(uintptr_t f)
{
	return f >= hl_next.text_lo && f < hl_next.text_hi;
}

hl_cold bool hl_cxx_is_standard(uintptr_t f)
{
	struct dl_find_object object;
	const char *name;

	if (_dl_find_object((void *)f, &object) != 0)
		return false;
	name = hl_elf_lookup_file_name(object.dlfo_link_map->l_name);
	return !strncmp(name, "libstdc++.", 10) || !strncmp(name, "libc++", 6);
}

/* True if the symbol is defined before us, in the program, or after us, in another library than the
 * standard one. */
hl_cold static bool is_replaced(const char *symbol)
{
	uintptr_t next = hl_next.cxx ? (uintptr_t)dlsym(RTLD_NEXT, symbol) : 0;

	return !hl_next_is_bound_to_us(symbol) ||
	       (next && !is_in_allocator(next) && !hl_cxx_is_standard(next));
}

/* Operators of an allocator and of the standard library are known to return the block that they
 * allocate, so they can be recorded. */
hl_cold static bool should_record(uintptr_t real)
{
	return is_in_allocator(real) || (hl_cxx_is_standard(real) && !has_custom_operators);
}

hl_cold static void set_operator(enum hl_cxx_op i, void *real)
{
	ops[i].real.pass_through = !should_record((uintptr_t)real);
	if (!ops[i].real.pass_through)
		hl_cxx_add_internal(real);
	/* An allocator's operator may call the standard library's. */
	if (is_in_allocator((uintptr_t)real)) {
		void *next = hl_elf_lookup_after(hl_cxx_symbols[i], (uintptr_t)real);

		if (next)
			hl_cxx_add_internal(next);
	}
	ops[i].real.fn = real;
}

/* True for forms without an alignment, under the conditions in the file comment. */
hl_cold static bool is_plain(enum hl_cxx_op i)
{
	return (i < HL_OP_NEW_ALIGN || (i >= HL_OP_DEL && i < HL_OP_DEL_ALIGN)) && ops[i].real.fn &&
	       !ops[i].real.pass_through && hl_cxx_is_standard((uintptr_t)ops[i].real.fn);
}

/*
 * A malloc or free that is bound before ours sees the calls that operators make, whether it is a
 * wrapper that calls us or an allocator that does not. In that case, too, the operators are passed
 * through.
 */
hl_cold void hl_cxx_resolve(void)
{
	hl_tls.busy = true;
	has_custom_operators = !hl_next_is_bound_to_us("malloc") || !hl_next_is_bound_to_us("free");
	for (int i = 0; i < HL_OP_COUNT; i++)
		has_custom_operators |= is_replaced(hl_cxx_symbols[i]);
	for (int i = 0; i < HL_OP_COUNT && hl_next.cxx; i++) {
		void *real = dlsym(RTLD_NEXT, hl_cxx_symbols[i]);

		if (real)
			set_operator((enum hl_cxx_op)i, real);
		ops[i].plain = !hl_next.foreign && is_plain((enum hl_cxx_op)i);
	}
	hl_tls.busy = false;
}

typedef void *(*new_fn)(size_t, uintptr_t, const void *);
typedef void (*del_fn)(void *, uintptr_t, uintptr_t, const void *);

/*
 * One body for all forms: the operators take one to three words in registers, and passing more
 * words than an operator reads is harmless in the System V calling convention. Without a real
 * operator there is no C++ library in the process, and no caller can expect an exception.
 */
static hl_noinline void *new_by_next(new_fn real, uint32_t func, size_t size, uintptr_t a,
	const void *b, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	uintptr_t saved = hl_tls.guard;
	void *p;

	if (hl_unlikely(!real))
		return hl_next.malloc(size ? size : 1);
	if (hl_unlikely(hl_reentry_is_internal(&regs)))
		return real(size, a, b);
	hl_tls.guard = regs.sp;
	p = real(size, a, b);
	hl_tls.guard = saved;
	if (hl_sampling_skips_alloc(hl_control(), p ? size : 0))
		return p;
	return hl_on_alloc(p, hook, func, size);
}

static hl_noinline void delete_by_next(del_fn real, uint32_t func, void *p, uintptr_t a,
	uintptr_t b, const void *c, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	uintptr_t saved = hl_tls.guard;

	if (hl_unlikely(!real)) {
		hl_next.free(p);
		return;
	}
	if (hl_unlikely(hl_reentry_is_internal(&regs))) {
		real(p, a, b, c);
		return;
	}
	if (!hl_sampling_skips_free(hl_control(), p))
		hl_on_free(p, hook, func);
	hl_tls.guard = regs.sp;
	real(p, a, b, c);
	hl_tls.guard = saved;
}

/* Inlined into each operator: the captured state is that of the operator's caller, and an operator
 * that is passed through is reached by a jump, so we are not visible on the stack. */
hl_inline void *op_new(enum hl_cxx_op i, uint32_t func, size_t size, uintptr_t a, const void *b)
{
	struct hl_cxx_next real = ops[i].real;

	if (hl_unlikely(!real.fn))
		real = hl_cxx_find_in_scope(i, (uintptr_t)__builtin_return_address(0));
	if (hl_unlikely(real.pass_through))
		return ((new_fn)real.fn)(size, a, b);
	if (hl_likely(ops[i].plain && !hl_tls.guard)) {
		bool skips = hl_hook_skips_alloc(size);
		void *p = hl_next.malloc(size ? size : 1);

		if (hl_likely(p && skips))
			return p;
		if (hl_likely(p != NULL))
			return HL_RETURN_KEEPING_FRAME(hl_on_alloc(p, HL_ARCH_FRAME(), func, size));
	}
	return HL_RETURN_KEEPING_FRAME(
		new_by_next((new_fn)real.fn, func, size, a, b, HL_ARCH_FRAME()));
}

hl_inline void op_delete(
	enum hl_cxx_op i, uint32_t func, void *p, uintptr_t a, uintptr_t b, const void *c)
{
	struct hl_cxx_next real = ops[i].real;

	if (hl_unlikely(!real.fn))
		real = hl_cxx_find_in_scope(i, (uintptr_t)__builtin_return_address(0));
	if (hl_unlikely(real.pass_through)) {
		((del_fn)real.fn)(p, a, b, c);
		return;
	}
	if (hl_unlikely(!p || hl_boot_owns(p)))
		return;
	if (hl_likely(ops[i].plain && !hl_tls.guard)) {
		if (!hl_hook_skips_free(p))
			hl_on_free(p, HL_ARCH_FRAME(), func);
		hl_next.free(p);
		return;
	}
	delete_by_next((del_fn)real.fn, func, p, a, b, c, HL_ARCH_FRAME());
	HL_KEEP_FRAME();
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
