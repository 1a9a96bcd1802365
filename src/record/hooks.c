/*
 * hooks.c - the malloc family. Each hook has one shape: call the next allocator, record what came
 * of it; a free is recorded before the call, because afterwards the address may be someone else's.
 *
 * What no call changed is no event: failures, free(NULL). A realloc is a begin before and an end
 * after: see protocol in ring/record.h.
 */
#include "base/bits.h"
#include "record/guard.h"
#include "record/recorder.h"
#include "record/steer.h"
#include "record/tags.h"

#define CAPTURED(regs)       \
	struct hl_regs regs; \
	HL_ARCH_CAPTURE(&regs)

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

hl_inline void *record_new(void *p, const struct hl_regs *regs, uint32_t func, size_t size)
{
	if (hl_likely(p != NULL))
		hl_emit_alloc(regs, func, p, size);
	return p;
}

hl_inline void *count_new(void *p, uint32_t func, size_t size)
{
	if (hl_likely(p != NULL)) {
		hl_emit_zero(func, p, size);
		hl_tags_alloc(p, func);
	}
	return p;
}

/* Not in the hooks themselves: each would save six registers for it, when two are enough to find
 * out that nothing is to be recorded. */
static hl_noinline void *made(void *p, const struct hl_regs *regs, uint32_t func, size_t size)
{
	if (hl_unlikely(hl_tags_mode()))
		return count_new(p, func, size);
	return record_new(p, regs, func, size);
}

static hl_noinline void gone(void *p, const struct hl_regs *regs, uint32_t func)
{
	if (hl_unlikely(hl_tags_mode()))
		hl_tags_free(p, func);
	else
		hl_emit_free(regs, func, p);
}

/* CALL is the next allocator's function; its result or what it does is `store`d. */
#define GUARDED(store, call)                        \
	do {                                        \
		if (hl_unlikely(hl_real.foreign)) { \
			HL_GUARD_ENTER();           \
			store call;                 \
			HL_GUARD_LEAVE();           \
		} else {                            \
			store call;                 \
		}                                   \
	} while (0)

#define ALLOC_HOOK(func, size, call)                        \
	do {                                                \
		void *hl_p;                                 \
		if (hl_internal())                          \
			return call;                        \
		GUARDED(hl_p =, call);                      \
		if (hl_steer_passes_alloc(hl_p ? size : 0)) \
			return hl_p;                        \
		CAPTURED(regs);                             \
		return made(hl_p, &regs, func, size);       \
	} while (0)

void *malloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_MALLOC, size, hl_real.malloc(size));
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
	ALLOC_HOOK(HL_FUNC_MALLOC, size, no_allocator(size));
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
	ALLOC_HOOK(HL_FUNC_CALLOC, n * size, hl_real.calloc(n, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	ALLOC_HOOK(HL_FUNC_ALIGNED_ALLOC, size, hl_real.aligned_alloc(align, size));
}

void *memalign(size_t align, size_t size)
{
	ALLOC_HOOK(HL_FUNC_MEMALIGN, size, hl_real.memalign(align, size));
}

void *valloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_VALLOC, size, hl_real.valloc(size));
}

void *pvalloc(size_t size)
{
	ALLOC_HOOK(HL_FUNC_PVALLOC, size, hl_real.pvalloc(size));
}

int posix_memalign(void **out, size_t align, size_t size)
{
	int err;

	if (hl_internal())
		return hl_real.posix_memalign(out, align, size);
	HL_GUARD_ENTER();
	err = hl_real.posix_memalign(out, align, size);
	HL_GUARD_LEAVE();
	if (hl_unlikely(hl_tags_mode())) {
		if (err == 0 && *out)
			hl_tags_alloc(*out, HL_FUNC_POSIX_MEMALIGN);
		return err;
	}
	CAPTURED(regs);
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

void *realloc(void *p, size_t size)
{
	void *q;

	if (hl_internal())
		return hl_real.realloc(p, size);
	CAPTURED(regs);
	HL_GUARD_ENTER();
	if (hl_unlikely(hl_tags_mode()))
		q = count_move(p, 1, size, HL_FUNC_REALLOC);
	else if (p)
		q = move(p, 1, size, &regs, HL_FUNC_REALLOC);
	else
		q = record_new(hl_real.realloc(NULL, size), &regs, HL_FUNC_REALLOC, size);
	HL_GUARD_LEAVE();
	return q;
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;
	void *q;

	if (hl_internal() || __builtin_mul_overflow(n, size, &bytes))
		return hl_real.reallocarray(p, n, size); /* an overflow fails there, with errno */
	CAPTURED(regs);
	HL_GUARD_ENTER();
	if (hl_unlikely(hl_tags_mode()))
		q = count_move(p, n, size, HL_FUNC_REALLOCARRAY);
	else if (p)
		q = move(p, n, size, &regs, HL_FUNC_REALLOCARRAY);
	else
		q = record_new(
			hl_real.reallocarray(NULL, n, size), &regs, HL_FUNC_REALLOCARRAY, bytes);
	HL_GUARD_LEAVE();
	return q;
}

#define FREE_HOOK(func, p, call)                  \
	do {                                      \
		if (hl_unlikely(!(p)))            \
			return;                   \
		if (hl_internal()) {              \
			call;                     \
			return;                   \
		}                                 \
		if (hl_unlikely(hl_boot_owns(p))) \
			return;                   \
		if (!hl_steer_passes_free(p)) {   \
			CAPTURED(regs);           \
			gone(p, &regs, func);     \
		}                                 \
		GUARDED(, call);                  \
	} while (0)

void free(void *p)
{
	FREE_HOOK(HL_FUNC_FREE, p, hl_real.free(p));
}

void cfree(void *p)
{
	FREE_HOOK(HL_FUNC_CFREE, p, hl_real.cfree(p));
}

void free_sized(void *p, size_t size)
{
	FREE_HOOK(HL_FUNC_FREE_SIZED, p, hl_real.free_sized(p, size));
}

void free_aligned_sized(void *p, size_t align, size_t size)
{
	FREE_HOOK(HL_FUNC_FREE_ALIGNED_SIZED, p, hl_real.free_aligned_sized(p, align, size));
}
