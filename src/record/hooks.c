/*
 * hooks.c - the malloc family. Each hook has one shape: call the next allocator, record what came
 * of it; a free is recorded before the call, because afterwards the address may be someone else's.
 *
 * What no call changed is no event: failures, free(NULL). A realloc is a begin before and an end
 * after: see protocol in ring/record.h.
 */
#include <string.h>

#include "base/bits.h"
#include "record/hooks.h"
#include "record/tags.h"

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

/* By names that nobody else has, for first.c. In assembler: an alias would have to repeat what the
 * compiler knows of each. */
#define ALSO(name) \
	__asm__(".globl heaplapse_hook_" #name "\n.set heaplapse_hook_" #name ", " #name "\n")
ALSO(malloc);
ALSO(calloc);
ALSO(realloc);
ALSO(reallocarray);
ALSO(free);
ALSO(cfree);
ALSO(free_sized);
ALSO(free_aligned_sized);
ALSO(posix_memalign);
ALSO(aligned_alloc);
ALSO(memalign);
ALSO(valloc);
ALSO(pvalloc);
ALSO(strdup);
ALSO(strndup);

hl_inline void *record_new(void *p, const struct hl_regs *regs, uint32_t func, size_t size)
{
	return hl_likely(p != NULL) ? hl_emit_alloc(regs, func, p, size) : NULL;
}

static hl_noinline void *count_new(void *p, uint32_t func, size_t size)
{
	if (hl_likely(p != NULL)) {
		hl_emit_zero(func, p, size);
		hl_tags_alloc(p, func);
	}
	return p;
}

static hl_noinline void count_gone(void *p, uint32_t func)
{
	hl_tags_free(p, func);
}

void *hl_hook_made_any(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size)
{
	struct hl_regs regs = hl_arch_caller(hook);

	if (hl_unlikely(hl_tags_mode()))
		return count_new(p, func, size);
	return record_new(p, &regs, func, size);
}

void hl_hook_gone_any(void *p, const struct hl_arch_frame *hook, uint32_t func)
{
	struct hl_regs regs = hl_arch_caller(hook);

	if (hl_unlikely(hl_tags_mode()))
		count_gone(p, func);
	else
		hl_emit_free(&regs, func, p);
}

/*
 * What is seldom needed is in functions of its own, so that a hook saves no register for it. All of
 * one shape, as passing a word more than a function reads is harmless in the calling convention.
 */
typedef void (*any_fn)(void);
typedef void *(*alloc_fn)(size_t, size_t);
typedef void (*free_fn)(void *, size_t, size_t);

/* The call is the allocator's own, or it may call back. */
#define IS_GUARDED() hl_unlikely(hl_tls.guard != 0 || hl_real.foreign)

static hl_noinline void *allocate_guarded(alloc_fn next, size_t a, size_t b, size_t size,
	uint32_t func, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);
	void *p;

	if (hl_internal(&regs))
		return next(a, b);
	HL_GUARD_ENTER(&regs);
	p = next(a, b);
	HL_GUARD_LEAVE();
	if (hl_steer_passes_alloc(hl_steer(), p ? size : 0))
		return p;
	return hl_hook_made(p, hook, func, size);
}

static hl_noinline void release_guarded(
	free_fn next, void *p, size_t a, size_t b, uint32_t func, const struct hl_arch_frame *hook)
{
	const struct hl_regs regs = hl_arch_caller(hook);

	if (hl_internal(&regs)) {
		next(p, a, b);
		return;
	}
	if (!hl_steer_passes_free(hl_steer(), p))
		hl_hook_gone(p, hook, func);
	HL_GUARD_ENTER(&regs);
	next(p, a, b);
	HL_GUARD_LEAVE();
}

/* `call` is NEXT with A and B as it takes them; SIZE the bytes it is asked for. */
#define ALLOC_HOOK(func, next, a, b, size, call)                                               \
	do {                                                                                   \
		if (hl_hook_passes_alloc(size))                                                \
			return call;                                                           \
		if (IS_GUARDED())                                                              \
			return HL_STAYING(allocate_guarded(                                    \
				(alloc_fn)(any_fn)(next), a, b, size, func, HL_ARCH_FRAME())); \
		return HL_STAYING(hl_hook_made(call, HL_ARCH_FRAME(), func, size));            \
	} while (0)

#define FREE_HOOK(func, next, p, a, b, call)                                                      \
	do {                                                                                      \
		if (hl_hook_passes_free(p)) {                                                     \
			call;                                                                     \
			return;                                                                   \
		}                                                                                 \
		if (hl_unlikely(!(p) || hl_boot_owns(p)))                                         \
			return;                                                                   \
		if (IS_GUARDED()) {                                                               \
			release_guarded((free_fn)(any_fn)(next), p, a, b, func, HL_ARCH_FRAME()); \
			HL_STAY();                                                                \
			return;                                                                   \
		}                                                                                 \
		hl_hook_gone(p, HL_ARCH_FRAME(), func);                                           \
		call;                                                                             \
	} while (0)

void *malloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_MALLOC, hl_real.malloc, size, 0, size, hl_real.malloc(size));
}

/* --- what stands around a record --- */

static void *nothing(size_t size)
{
	(void)size;
	return NULL;
}
static void *(*volatile no_allocator)(size_t) = nothing;

static hl_noinline void *empty_hook(size_t size)
{
	ALLOC_HOOK(HL_FUNC_MALLOC, no_allocator, size, 0, size, no_allocator(size));
}

#define TRIES  8
#define ROUNDS 32

static uint64_t time_of(void *(*volatile call)(size_t))
{
	uint64_t from = hl_arch_stamp();

	for (int i = 0; i < ROUNDS; i++)
		call(1);
	return hl_arch_stamp() - from;
}

hl_cold uint32_t hl_hooks_ticks_around(void)
{
	uint64_t with = UINT64_MAX, without = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		with = hl_min_u64(with, time_of(empty_hook));
		without = hl_min_u64(without, time_of(no_allocator));
	}
	return with > without ? (uint32_t)((with - without) / ROUNDS) : 0;
}

void *calloc(size_t n, size_t size)
{
	/* The product cannot overflow when the call succeeded. */
	ALLOC_HOOK(HL_FUNC_CALLOC, hl_real.calloc, n, size, n * size, hl_real.calloc(n, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	ALLOC_HOOK(HL_FUNC_ALIGNED_ALLOC, hl_real.aligned_alloc, align, size, size,
		hl_real.aligned_alloc(align, size));
}

void *memalign(size_t align, size_t size)
{
	ALLOC_HOOK(HL_FUNC_MEMALIGN, hl_real.memalign, align, size, size,
		hl_real.memalign(align, size));
}

void *valloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_VALLOC, hl_real.valloc, size, 0, size, hl_real.valloc(size));
}

void *pvalloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_PVALLOC, hl_real.pvalloc, size, 0, size, hl_real.pvalloc(size));
}

int posix_memalign(void **out, size_t align, size_t size)
{
	struct hl_regs regs;
	int err;

	HL_ARCH_CAPTURE(&regs);
	if (hl_internal(&regs))
		return hl_real.posix_memalign(out, align, size);
	HL_GUARD_ENTER(&regs);
	err = hl_real.posix_memalign(out, align, size);
	HL_GUARD_LEAVE();
	if (hl_unlikely(hl_tags_mode())) {
		if (err == 0 && *out)
			hl_tags_alloc(*out, HL_FUNC_POSIX_MEMALIGN);
		return err;
	}
	if (err == 0 && *out)
		hl_emit_alloc(&regs, HL_FUNC_POSIX_MEMALIGN, *out, size);
	return err;
}

/* Blocks from before the next allocator was known cannot be resized by it. */
hl_cold static void *move_boot_block(void *p, size_t size)
{
	void *q = hl_real.malloc(size);

	if (q)
		__builtin_memcpy(q, p, hl_min_u64(size, hl_boot_size(p)));
	return q;
}

/* Its own reallocarray and not realloc in its place: when they fail, they may differ. */
hl_inline void *resize(void *p, size_t n, size_t size, uint32_t func)
{
	if (func == HL_FUNC_REALLOCARRAY)
		return hl_real.reallocarray(p, n, size);
	return hl_real.realloc(p, size);
}

/* n is 1 for realloc. */
static void *move(void *p, size_t n, size_t size, const struct hl_regs *regs, uint32_t func)
{
	size_t bytes = n * size;
	bool begun;
	void *q;

	if (hl_unlikely(hl_boot_owns(p)))
		return record_new(move_boot_block(p, bytes), regs, func, bytes);
	begun = hl_emit_move_begin(p);
	q = resize(p, n, size, func);
	if (hl_likely(q != NULL) || bytes == 0)
		hl_emit_move_end(regs, func, p, q, bytes, begun);
	else if (begun)
		hl_emit_move_failed(p);
	return q;
}

/* The same in mode `tags`. */
static void *count_move(void *p, size_t n, size_t size, uint32_t func)
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

	/* an overflow fails there, with errno */
	if (hl_internal(regs) || __builtin_mul_overflow(n, size, &bytes) ||
		(hl_real.aside && func == HL_FUNC_REALLOCARRAY))
		return resize(p, n, size, func);
	HL_GUARD_ENTER(regs);
	if (hl_unlikely(hl_tags_mode()))
		q = count_move(p, n, size, func);
	else if (p)
		q = move(p, n, size, regs, func);
	else
		q = record_new(resize(NULL, n, size, func), regs, func, bytes);
	HL_GUARD_LEAVE();
	return q;
}

void *realloc(void *p, size_t size)
{
	struct hl_regs regs;

	if (hl_hook_passes_free(p) && hl_hook_passes_alloc(size))
		return hl_real.realloc(p, size);
	if (!p && hl_likely(!IS_GUARDED() && !hl_tags_mode())) /* so python makes its lists */
		return HL_STAYING(hl_hook_made(
			hl_real.realloc(NULL, size), HL_ARCH_FRAME(), HL_FUNC_REALLOC, size));
	HL_ARCH_CAPTURE(&regs);
	return reallocate(p, 1, size, HL_FUNC_REALLOC, &regs);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	struct hl_regs regs;

	if (hl_hook_passes_free(p) && hl_hook_passes_alloc(n * size))
		return hl_real.reallocarray(p, n, size);
	HL_ARCH_CAPTURE(&regs);
	return reallocate(p, n, size, HL_FUNC_REALLOCARRAY, &regs);
}

/*
 * libc's call malloc, and are led there by one jump. Those of another allocator (mimalloc 3 has
 * both) take the block without a call that comes to us: they are recorded here, as malloc.
 */
char *strdup(const char *s)
{
	size_t size;

	if (hl_likely(!hl_real.copies))
		return hl_real.strdup(s);
	size = strlen(s) + 1;
	ALLOC_HOOK(HL_FUNC_MALLOC, hl_real.strdup, (size_t)s, 0, size, hl_real.strdup(s));
}

char *strndup(const char *s, size_t n)
{
	size_t size;

	if (hl_likely(!hl_real.copies))
		return hl_real.strndup(s, n);
	size = strnlen(s, n) + 1;
	ALLOC_HOOK(HL_FUNC_MALLOC, hl_real.strndup, (size_t)s, n, size, hl_real.strndup(s, n));
}

void free(void *p)
{
	FREE_HOOK(HL_FUNC_FREE, hl_real.free, p, 0, 0, hl_real.free(p));
}

void cfree(void *p)
{
	FREE_HOOK(HL_FUNC_CFREE, hl_real.cfree, p, 0, 0, hl_real.cfree(p));
}

void free_sized(void *p, size_t size)
{
	FREE_HOOK(HL_FUNC_FREE_SIZED, hl_real.free_sized, p, size, 0, hl_real.free_sized(p, size));
}

void free_aligned_sized(void *p, size_t align, size_t size)
{
	FREE_HOOK(HL_FUNC_FREE_ALIGNED_SIZED, hl_real.free_aligned_sized, p, align, size,
		hl_real.free_aligned_sized(p, align, size));
}
