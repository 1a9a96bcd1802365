/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc.c - the malloc family. Each hook has the same shape: call the next allocator, then record
 * the result. A free is recorded before the call, because afterwards another thread may get the
 * address.
 *
 * A call that changes nothing is not an event: failures, free(NULL). A realloc is a begin record
 * before the call and an end record after it; ring/ring_record.h has the protocol.
 */
#include <string.h>

#include "base/bits.h"
#include "record/hooks/hooks.h"
#include "record/tags/tags.h"
#include "record/emit/emit.h"

hl_export void *malloc(size_t size);
hl_export void *calloc(size_t n, size_t size);
hl_export void *realloc(void *p, size_t size);
hl_export void *reallocarray(void *p, size_t n, size_t size);
hl_export void free(void *p);
hl_export void cfree(void *p);
hl_export void free_sized(void *p, size_t size);
hl_export void free_aligned_sized(void *p, size_t align, size_t size);
hl_export int posix_memalign(void **out, size_t align, size_t size);
hl_export void *aligned_alloc(size_t align, size_t size);
hl_export void *memalign(size_t align, size_t size);
hl_export void *valloc(size_t size);
hl_export void *pvalloc(size_t size);
hl_export char *strdup(const char *s);
hl_export char *strndup(const char *s, size_t n);

/* Unique names of the hooks, for link_shim.c. In assembler: an alias in C would have to repeat all
 * attributes that the compiler knows of each function. */
#define EXPORT_ALIAS(name) \
	__asm__(".globl heaplapse_hook_" #name "\n.set heaplapse_hook_" #name ", " #name "\n")
EXPORT_ALIAS(malloc);
EXPORT_ALIAS(calloc);
EXPORT_ALIAS(realloc);
EXPORT_ALIAS(reallocarray);
EXPORT_ALIAS(free);
EXPORT_ALIAS(cfree);
EXPORT_ALIAS(free_sized);
EXPORT_ALIAS(free_aligned_sized);
EXPORT_ALIAS(posix_memalign);
EXPORT_ALIAS(aligned_alloc);
EXPORT_ALIAS(memalign);
EXPORT_ALIAS(valloc);
EXPORT_ALIAS(pvalloc);
EXPORT_ALIAS(strdup);
EXPORT_ALIAS(strndup);

hl_inline void *record_alloc(void *p, const struct hl_regs *regs, uint32_t func, size_t size)
{
	return hl_likely(p != NULL) ? hl_emit_alloc(regs, func, p, size) : NULL;
}

static hl_noinline void *count_alloc(void *p, uint32_t func, size_t size)
{
	if (hl_likely(p != NULL)) {
		hl_emit_zero(func, p, size);
		hl_tags_alloc(p, func);
	}
	return p;
}

static hl_noinline void count_free(void *p, uint32_t func)
{
	hl_tags_free(p, func);
}

void *hl_on_alloc_slow(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	struct hl_regs regs = hl_arch_caller(hook);

	if (hl_unlikely(hl_tags_counting()))
		return count_alloc(p, func, size);
	return record_alloc(p, &regs, func, size);
}

void hl_on_free_slow(void *p, const struct hl_arch_frame *hook, uint32_t func)
{
	struct hl_regs regs = hl_arch_caller(hook);

	if (hl_unlikely(hl_tags_counting()))
		count_free(p, func);
	else
		hl_emit_free(&regs, func, p);
}

/*
 * Rare cases are in separate functions, so that a hook saves no registers for them. All have the
 * same signature: passing one word more than a function reads is harmless in the calling
 * convention.
 */
typedef void (*any_fn)(void);
typedef void *(*alloc_fn)(size_t, size_t);
typedef void (*free_fn)(void *, size_t, size_t);

/* True if this may be a call of the allocator itself, or if the allocator may call back. */
#define IS_GUARDED() hl_unlikely(hl_tls.guard != 0 || hl_next.foreign)

static hl_noinline void *allocate_guarded(alloc_fn next, size_t a, size_t b, size_t size,
	uint32_t func, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	void *p;

	if (hl_reentry_is_internal(&regs))
		return next(a, b);
	HL_REENTRY_ENTER(&regs);
	p = next(a, b);
	HL_REENTRY_LEAVE();
	if (hl_sampling_skips_alloc(hl_control(), p ? size : 0))
		return p;
	return hl_on_alloc(p, hook, func, size);
}

static hl_noinline void free_guarded(
	free_fn next, void *p, size_t a, size_t b, uint32_t func, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);

	if (hl_reentry_is_internal(&regs)) {
		next(p, a, b);
		return;
	}
	if (!hl_sampling_skips_free(hl_control(), p))
		hl_on_free(p, hook, func);
	HL_REENTRY_ENTER(&regs);
	next(p, a, b);
	HL_REENTRY_LEAVE();
}

/* `call` is the call of `next` with its own parameters, made from a and b; `size` is the requested
 * size. */
#define ALLOC_HOOK(func, next, a, b, size, call)                                                \
	do {                                                                                    \
		if (hl_hook_skips_alloc(size))                                                  \
			return call;                                                            \
		if (IS_GUARDED())                                                               \
			return HL_RETURN_KEEPING_FRAME(allocate_guarded(                        \
				(alloc_fn)(any_fn)(next), a, b, size, func, HL_ARCH_FRAME()));  \
		return HL_RETURN_KEEPING_FRAME(hl_on_alloc(call, HL_ARCH_FRAME(), func, size)); \
	} while (0)

#define FREE_HOOK(func, next, p, a, b, call)                                                   \
	do {                                                                                   \
		if (hl_hook_skips_free(p)) {                                                   \
			call;                                                                  \
			return;                                                                \
		}                                                                              \
		if (hl_unlikely(!(p) || hl_boot_owns(p)))                                      \
			return;                                                                \
		if (IS_GUARDED()) {                                                            \
			free_guarded((free_fn)(any_fn)(next), p, a, b, func, HL_ARCH_FRAME()); \
			HL_KEEP_FRAME();                                                       \
			return;                                                                \
		}                                                                              \
		hl_on_free(p, HL_ARCH_FRAME(), func);                                          \
		call;                                                                          \
	} while (0)

void *malloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_MALLOC, hl_next.malloc, size, 0, size, hl_next.malloc(size));
}

/* --- the cost of a hook without its record --- */

static void *return_null(size_t size)
{
	(void)size;
	return NULL;
}
static void *(*volatile no_allocator)(size_t) = return_null;

static hl_noinline void *empty_hook(size_t size)
{
	ALLOC_HOOK(HL_FUNC_MALLOC, no_allocator, size, 0, size, no_allocator(size));
}

#define TRIES  8
#define ROUNDS 32

static uint64_t time_calls(void *(*volatile call)(size_t))
{
	uint64_t from = hl_arch_stamp();

	for (int i = 0; i < ROUNDS; i++)
		call(1);
	return hl_arch_stamp() - from;
}

hl_cold uint32_t hl_hooks_overhead_ticks(void)
{
	uint64_t with = UINT64_MAX, without = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		with = hl_min_u64(with, time_calls(empty_hook));
		without = hl_min_u64(without, time_calls(no_allocator));
	}
	return with > without ? (uint32_t)((with - without) / ROUNDS) : 0;
}

void *calloc(size_t n, size_t size)
{
	/* The product cannot overflow when the call succeeded. */
	ALLOC_HOOK(HL_FUNC_CALLOC, hl_next.calloc, n, size, n * size, hl_next.calloc(n, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	ALLOC_HOOK(HL_FUNC_ALIGNED_ALLOC, hl_next.aligned_alloc, align, size, size,
		hl_next.aligned_alloc(align, size));
}

void *memalign(size_t align, size_t size)
{
	ALLOC_HOOK(HL_FUNC_MEMALIGN, hl_next.memalign, align, size, size,
		hl_next.memalign(align, size));
}

void *valloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_VALLOC, hl_next.valloc, size, 0, size, hl_next.valloc(size));
}

void *pvalloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_PVALLOC, hl_next.pvalloc, size, 0, size, hl_next.pvalloc(size));
}

int posix_memalign(void **out, size_t align, size_t size)
{
	struct hl_regs regs;
	int err;

	HL_ARCH_CAPTURE(&regs);
	if (hl_reentry_is_internal(&regs))
		return hl_next.posix_memalign(out, align, size);
	HL_REENTRY_ENTER(&regs);
	err = hl_next.posix_memalign(out, align, size);
	HL_REENTRY_LEAVE();
	if (hl_unlikely(hl_tags_counting())) {
		if (err == 0 && *out)
			hl_tags_alloc(*out, HL_FUNC_POSIX_MEMALIGN);
		return err;
	}
	if (err == 0 && *out)
		hl_emit_alloc(&regs, HL_FUNC_POSIX_MEMALIGN, *out, size);
	return err;
}

/* The next allocator cannot resize blocks of the boot arena (next.c). */
hl_cold static void *move_boot_block(void *p, size_t size)
{
	void *q = hl_next.malloc(size);

	if (q)
		__builtin_memcpy(q, p, hl_min_u64(size, hl_boot_size(p)));
	return q;
}

/* Calls the allocator's own reallocarray, and not realloc instead: they may fail in
 * different ways. */
hl_inline void *resize(void *p, size_t n, size_t size, uint32_t func)
{
	if (func == HL_FUNC_REALLOCARRAY)
		return hl_next.reallocarray(p, n, size);
	return hl_next.realloc(p, size);
}

/* n is 1 for realloc. */
static void *record_realloc(
	void *p, size_t n, size_t size, const struct hl_regs *regs, uint32_t func)
{
	size_t bytes = n * size;
	bool begun;
	void *q;

	if (hl_unlikely(hl_boot_owns(p)))
		return record_alloc(move_boot_block(p, bytes), regs, func, bytes);
	begun = hl_emit_move_begin(p);
	q = resize(p, n, size, func);
	if (hl_likely(q != NULL) || bytes == 0)
		hl_emit_move_end(regs, func, p, q, bytes, begun);
	else if (begun)
		hl_emit_move_failed(p);
	return q;
}

/* The same in mode `tags`. */
static void *count_realloc(void *p, size_t n, size_t size, uint32_t func)
{
	struct hl_tags_move m = {0};
	void *q;

	if (hl_unlikely(p && hl_boot_owns(p))) {
		q = move_boot_block(p, n * size);
		p = NULL;
	} else {
		if (p)
			m = hl_tags_move_begin(p);
		q = resize(p, n, size, func);
	}
	if (hl_likely(q != NULL) || (p && n * size == 0))
		hl_tags_move_end(m, p, q, func);
	else if (p)
		hl_tags_move_failed(m, p);
	return q;
}

static hl_noinline void *reallocate(
	void *p, size_t n, size_t size, uint32_t func, const struct hl_regs *regs)
{
	size_t bytes;
	void *q;

	/* on overflow the real function fails and sets errno */
	if (hl_reentry_is_internal(regs) || __builtin_mul_overflow(n, size, &bytes) ||
		(hl_next.owner_differs && func == HL_FUNC_REALLOCARRAY))
		return resize(p, n, size, func);
	HL_REENTRY_ENTER(regs);
	if (hl_unlikely(hl_tags_counting()))
		q = count_realloc(p, n, size, func);
	else if (p)
		q = record_realloc(p, n, size, regs, func);
	else
		q = record_alloc(resize(NULL, n, size, func), regs, func, bytes);
	HL_REENTRY_LEAVE();
	return q;
}

void *realloc(void *p, size_t size)
{
	struct hl_regs regs;

	if (hl_hook_skips_free(p) && hl_hook_skips_alloc(size))
		return hl_next.realloc(p, size);
	/* CPython allocates its lists by realloc(NULL, size). */
	if (!p && hl_likely(!IS_GUARDED() && !hl_tags_counting()))
		return HL_RETURN_KEEPING_FRAME(hl_on_alloc(
			hl_next.realloc(NULL, size), HL_ARCH_FRAME(), HL_FUNC_REALLOC, size));
	HL_ARCH_CAPTURE(&regs);
	return reallocate(p, 1, size, HL_FUNC_REALLOC, &regs);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	struct hl_regs regs;

	if (hl_hook_skips_free(p) && hl_hook_skips_alloc(n * size))
		return hl_next.reallocarray(p, n, size);
	HL_ARCH_CAPTURE(&regs);
	return reallocate(p, n, size, HL_FUNC_REALLOCARRAY, &regs);
}

/*
 * libc's strdup and strndup call malloc, which is recorded; they are reached by one jump. Those of
 * another allocator (mimalloc 3 has both) get the block without a call that comes to us. They are
 * recorded here, as malloc.
 */
char *strdup(const char *s)
{
	size_t size;

	if (hl_likely(!hl_next.has_own_strdup))
		return hl_next.strdup(s);
	size = strlen(s) + 1;
	ALLOC_HOOK(HL_FUNC_MALLOC, hl_next.strdup, (size_t)s, 0, size, hl_next.strdup(s));
}

char *strndup(const char *s, size_t n)
{
	size_t size;

	if (hl_likely(!hl_next.has_own_strdup))
		return hl_next.strndup(s, n);
	size = strnlen(s, n) + 1;
	ALLOC_HOOK(HL_FUNC_MALLOC, hl_next.strndup, (size_t)s, n, size, hl_next.strndup(s, n));
}

void free(void *p)
{
	FREE_HOOK(HL_FUNC_FREE, hl_next.free, p, 0, 0, hl_next.free(p));
}

void cfree(void *p)
{
	FREE_HOOK(HL_FUNC_CFREE, hl_next.cfree, p, 0, 0, hl_next.cfree(p));
}

void free_sized(void *p, size_t size)
{
	FREE_HOOK(HL_FUNC_FREE_SIZED, hl_next.free_sized, p, size, 0, hl_next.free_sized(p, size));
}

void free_aligned_sized(void *p, size_t align, size_t size)
{
	FREE_HOOK(HL_FUNC_FREE_ALIGNED_SIZED, hl_next.free_aligned_sized, p, align, size,
		hl_next.free_aligned_sized(p, align, size));
}
