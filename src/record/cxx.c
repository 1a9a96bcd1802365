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

#include "record/hooks.h"
#include "record/lookup.h"

/* One row per operator: its symbol, the real one when found, and the bounds of its code. */
struct op {
	const char *symbol;
	void *real;
	uintptr_t lo, hi;
	bool passed_on; /* not ours to record */
	bool plain;     /* what it calls is our malloc or free, and behind us is libc */
	bool late;      /* came with a plugin, and may go with it */
};

enum {
	NEW,
	NEW_ARRAY,
	NEW_NOTHROW,
	NEW_ARRAY_NOTHROW,
	NEW_ALIGN,
	NEW_ARRAY_ALIGN,
	NEW_ALIGN_NOTHROW,
	NEW_ARRAY_ALIGN_NOTHROW,
	DEL,
	DEL_ARRAY,
	DEL_NOTHROW,
	DEL_ARRAY_NOTHROW,
	DEL_SIZED,
	DEL_ARRAY_SIZED,
	DEL_ALIGN,
	DEL_ARRAY_ALIGN,
	DEL_ALIGN_NOTHROW,
	DEL_ARRAY_ALIGN_NOTHROW,
	DEL_SIZED_ALIGN,
	DEL_ARRAY_SIZED_ALIGN,
	N_OPS,
};

static struct op ops[N_OPS] = {
	[NEW] = {"_Znwm"},
	[NEW_ARRAY] = {"_Znam"},
	[NEW_NOTHROW] = {"_ZnwmRKSt9nothrow_t"},
	[NEW_ARRAY_NOTHROW] = {"_ZnamRKSt9nothrow_t"},
	[NEW_ALIGN] = {"_ZnwmSt11align_val_t"},
	[NEW_ARRAY_ALIGN] = {"_ZnamSt11align_val_t"},
	[NEW_ALIGN_NOTHROW] = {"_ZnwmSt11align_val_tRKSt9nothrow_t"},
	[NEW_ARRAY_ALIGN_NOTHROW] = {"_ZnamSt11align_val_tRKSt9nothrow_t"},
	[DEL] = {"_ZdlPv"},
	[DEL_ARRAY] = {"_ZdaPv"},
	[DEL_NOTHROW] = {"_ZdlPvRKSt9nothrow_t"},
	[DEL_ARRAY_NOTHROW] = {"_ZdaPvRKSt9nothrow_t"},
	[DEL_SIZED] = {"_ZdlPvm"},
	[DEL_ARRAY_SIZED] = {"_ZdaPvm"},
	[DEL_ALIGN] = {"_ZdlPvSt11align_val_t"},
	[DEL_ARRAY_ALIGN] = {"_ZdaPvSt11align_val_t"},
	[DEL_ALIGN_NOTHROW] = {"_ZdlPvSt11align_val_tRKSt9nothrow_t"},
	[DEL_ARRAY_ALIGN_NOTHROW] = {"_ZdaPvSt11align_val_tRKSt9nothrow_t"},
	[DEL_SIZED_ALIGN] = {"_ZdlPvmSt11align_val_t"},
	[DEL_ARRAY_SIZED_ALIGN] = {"_ZdaPvmSt11align_val_t"},
};

bool hl_cxx_owns(uintptr_t pc)
{
	for (int i = 0; i < N_OPS; i++)
		if (pc >= ops[i].lo && pc < ops[i].hi)
			return true;
	return false;
}

/* Some operator is neither an allocator's nor the language's: any of the language's may end in it.
 */
static bool program_has_own;

hl_cold static bool is_allocators(uintptr_t f)
{
	return f >= hl_real.text_lo && f < hl_real.text_hi;
}

hl_cold static bool is_standard(uintptr_t f)
{
	struct dl_find_object object;
	const char *name;

	if (_dl_find_object((void *)f, &object) != 0)
		return false;
	for (name = object.dlfo_link_map->l_name; strchr(name, '/');)
		name = strchr(name, '/') + 1;
	return !strncmp(name, "libstdc++.", 10) || !strncmp(name, "libc++", 6);
}

hl_cold static bool leads_to_us(const char *symbol)
{
	uintptr_t first = (uintptr_t)dlsym(RTLD_DEFAULT, symbol);

	/* What the program holds of first.c leads to ours. */
	return (first >= hl_real.own_lo && first < hl_real.own_hi) ||
	       (first >= hl_real.program_lo && first < hl_real.program_hi);
}

/*
 * Before us, in the program, or behind us, in a library of its own. A stub of a program that is not
 * position-independent looks like the former, and costs no more than the name: malloc instead of
 * new.
 */
hl_cold static bool is_replaced(const struct op *op)
{
	uintptr_t next = hl_real.cxx ? (uintptr_t)dlsym(RTLD_NEXT, op->symbol) : 0;

	return !leads_to_us(op->symbol) || (next && !is_allocators(next) && !is_standard(next));
}

/* Of an allocator's own operators, and of the language's, we know that they return what they get.
 */
hl_cold static bool is_ours_to_record(uintptr_t real)
{
	return is_allocators(real) || (is_standard(real) && !program_has_own);
}

/* Several threads may do this at once: they find the same. */
hl_cold static void keep(struct op *op, void *real)
{
	uintptr_t lo, hi;

	op->passed_on = !is_ours_to_record((uintptr_t)real);
	if (!op->passed_on && hl_unwind_init(hl_modules_on_found) == 0 &&
		hl_unwind_function_range((uintptr_t)real, &lo, &hi)) {
		op->lo = lo;
		op->hi = hi;
	}
	__atomic_store_n(&op->real, real, __ATOMIC_RELEASE);
}

/* No form with an alignment; and none that comes later, as each plugin may have another. */
hl_cold static bool is_plain(int i)
{
	return (i < NEW_ALIGN || (i >= DEL && i < DEL_ALIGN)) && ops[i].real && !ops[i].passed_on &&
	       is_standard((uintptr_t)ops[i].real);
}

hl_cold void hl_cxx_resolve(void)
{
	bool malloc_is_ours = !hl_real.foreign && leads_to_us("malloc") && leads_to_us("free");

	hl_tls.busy = true;
	for (int i = 0; i < N_OPS; i++)
		program_has_own |= is_replaced(&ops[i]);
	for (int i = 0; i < N_OPS && hl_real.cxx; i++) {
		void *real = dlsym(RTLD_NEXT, ops[i].symbol);

		if (real)
			keep(&ops[i], real);
		ops[i].plain = malloc_is_ours && is_plain(i);
	}
	hl_tls.busy = false;
}

/*
 * A plugin opened RTLD_LOCAL has its C++ library to itself. If it has the operator itself, that is
 * for it alone: other plugins have others, and theirs must not be found here.
 */
hl_cold static void *find_late(struct op *op, uintptr_t caller, bool *passed_on)
{
	void *real = hl_lookup(op->symbol, hl_real.own_lo, caller);
	struct dl_find_object object;

	*passed_on = true;
	if (!real || (_dl_find_object((void *)caller, &object) == 0 &&
			     (uintptr_t)real >= (uintptr_t)object.dlfo_map_start &&
			     (uintptr_t)real < (uintptr_t)object.dlfo_map_end))
		return real;
	if (is_standard((uintptr_t)real)) {
		op->late = true;
		keep(op, real);
		*passed_on = op->passed_on;
	}
	return real;
}

void hl_cxx_forget(void)
{
	for (int i = 0; i < N_OPS; i++)
		if (ops[i].late)
			__atomic_store_n(&ops[i].real, NULL, __ATOMIC_RELEASE);
}

hl_inline void *real_op(int i, uintptr_t caller, bool *passed_on)
{
	void *real = __atomic_load_n(&ops[i].real, __ATOMIC_ACQUIRE);

	if (hl_unlikely(!real))
		return find_late(&ops[i], caller, passed_on);
	*passed_on = ops[i].passed_on;
	return real;
}

/* No C++ library anywhere: then nobody can expect an exception either. */
typedef void *(*new_fn)(size_t, uintptr_t, const void *);
typedef void (*del_fn)(void *, uintptr_t, uintptr_t, const void *);

/*
 * One body for all forms: the operators take one to three words in registers, and passing more than
 * one reads is harmless in the System V calling convention.
 */
static hl_noinline void *new_by_next(
	int i, uint32_t func, size_t size, uintptr_t a, const void *b, const struct hl_regs *regs)
{
	bool passed_on;
	new_fn real = (new_fn)real_op(i, regs->pc, &passed_on);
	uintptr_t saved = hl_tls.guard;
	void *p;

	if (hl_unlikely(!real))
		return hl_real.malloc(size ? size : 1);
	if (hl_unlikely(passed_on || hl_internal(regs)))
		return real(size, a, b);
	hl_tls.guard = regs->sp;
	p = real(size, a, b);
	hl_tls.guard = saved;
	if (hl_steer_passes_alloc(hl_steer(), p ? size : 0))
		return p;
	return hl_hook_made(p, regs, func, size);
}

static hl_noinline void delete_by_next(int i, uint32_t func, void *p, uintptr_t a, uintptr_t b,
	const void *c, const struct hl_regs *regs)
{
	del_fn real;
	uintptr_t saved = hl_tls.guard;
	bool passed_on;

	real = (del_fn)real_op(i, regs->pc, &passed_on);
	if (hl_unlikely(!real)) {
		hl_real.free(p);
		return;
	}
	if (hl_unlikely(passed_on || hl_internal(regs))) {
		real(p, a, b, c);
		return;
	}
	if (!hl_steer_passes_free(hl_steer(), p))
		hl_hook_gone(p, regs, func);
	hl_tls.guard = regs->sp;
	real(p, a, b, c);
	hl_tls.guard = saved;
}

/* Inlined into each operator, so that what is captured is the operator's caller. */
hl_inline void *op_new(int i, uint32_t func, size_t size, uintptr_t a, const void *b)
{
	if (hl_likely(ops[i].plain && !hl_tls.guard)) {
		bool passes = hl_hook_passes_alloc(size);
		void *p = hl_real.malloc(size ? size : 1);

		if (hl_likely(p && passes))
			return p;
		if (hl_likely(p != NULL)) {
			HL_CAPTURED(regs);
			return hl_hook_made(p, &regs, func, size);
		}
	}
	HL_CAPTURED(regs);
	return new_by_next(i, func, size, a, b, &regs);
}

hl_inline void op_delete(int i, uint32_t func, void *p, uintptr_t a, uintptr_t b, const void *c)
{
	if (hl_unlikely(!p || hl_boot_owns(p)))
		return;
	if (hl_likely(ops[i].plain && !hl_tls.guard)) {
		if (!hl_hook_passes_free(p)) {
			HL_CAPTURED(regs);
			hl_hook_gone(p, &regs, func);
		}
		hl_real.free(p);
		return;
	}
	HL_CAPTURED(regs);
	delete_by_next(i, func, p, a, b, c, &regs);
}

#define NEW_OP(i, symbol, func, params, a, b)                                     \
	hl_export void *hl_op_##i params __asm__(symbol);                         \
	hl_export void *heaplapse_hook_##i params __attribute__((alias(symbol))); \
	void *hl_op_##i params                                                    \
	{                                                                         \
		return op_new(i, func, size, a, b);                               \
	}

#define DEL_OP(i, symbol, func, params, a, b, c)                                 \
	hl_export void hl_op_##i params __asm__(symbol);                         \
	hl_export void heaplapse_hook_##i params __attribute__((alias(symbol))); \
	void hl_op_##i params                                                    \
	{                                                                        \
		op_delete(i, func, p, a, b, c);                                  \
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
