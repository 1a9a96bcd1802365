/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passthrough.c - a preload library whose hooks only forward: the cost of interposition alone.
 *
 * The next allocator is looked up when the library is loaded, or by an earlier first call. Memory
 * that dlsym itself allocates meanwhile comes from a small arena that is never freed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HOOK __attribute__((visibility("default")))

void *memalign(size_t align, size_t size);

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_reallocarray)(void *, size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static void (*next_free)(void *);

static _Alignas(16) char arena[4096];
static size_t arena_used;
static int looking;

static void *from_arena(size_t size)
{
	void *p = arena + arena_used;

	size = (size + 15) & ~(size_t)15;
	if (size > sizeof(arena) - arena_used)
		return NULL;
	arena_used += size;
	return p; /* zeroed: arena memory is used only once */
}

static int in_arena(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena < sizeof(arena);
}

/*
 * Returns false while the lookup is in progress. next_free is set last: it marks the lookup as
 * complete.
 */
__attribute__((cold, noinline)) static int look_up(void)
{
	if (looking)
		return 0;
	looking = 1;
	*(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next_reallocarray = dlsym(RTLD_NEXT, "reallocarray");
	*(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	*(void **)&next_memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	looking = 0;
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	if (!next_free)
		look_up();
}

#define READY() (__builtin_expect(next_free != NULL, 1) || look_up())

HOOK void *malloc(size_t size)
{
	return READY() ? next_malloc(size) : from_arena(size);
}

HOOK void free(void *p)
{
	if (READY() && !__builtin_expect(in_arena(p), 0))
		next_free(p);
}

HOOK void *calloc(size_t n, size_t size)
{
	return READY() ? next_calloc(n, size) : from_arena(n * size);
}

HOOK void *realloc(void *p, size_t size)
{
	void *copy;

	if (READY() && !in_arena(p))
		return next_realloc(p, size);
	copy = malloc(size);
	if (copy && p) {
		size_t room = (size_t)(arena + sizeof(arena) - (char *)p);

		memcpy(copy, p, size < room ? size : room);
	}
	return copy;
}

HOOK void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (READY() && !in_arena(p))
		return next_reallocarray(p, n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : realloc(p, bytes);
}

HOOK int posix_memalign(void **p, size_t align, size_t size)
{
	return READY() ? next_posix_memalign(p, align, size) : ENOMEM;
}

HOOK void *aligned_alloc(size_t align, size_t size)
{
	return READY() ? next_aligned_alloc(align, size) : NULL;
}

HOOK void *memalign(size_t align, size_t size)
{
	return READY() ? next_memalign(align, size) : NULL;
}
