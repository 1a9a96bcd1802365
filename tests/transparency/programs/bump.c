/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bump.c - an allocator that a signal handler may call at any time: its only state is one number.
 * Each call takes a while, so that signals interrupt it. Nothing is freed.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA ((size_t)8 << 30)

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t size);
void free(void *p);
void *memalign(size_t align, size_t size);
void *aligned_alloc(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);

static _Atomic(char *) arena;
static _Atomic size_t used;

static char *arena_base(void)
{
	char *old = arena, *new;

	if (old)
		return old;
	new = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	if (!atomic_compare_exchange_strong(&arena, &old, new))
		return old;
	return new;
}

void *memalign(size_t align, size_t size)
{
	size_t room = ((size + 15) & ~(size_t)15) + 16 + (align > 16 ? align : 0), at;
	char *p;

	for (volatile int i = 0; i < 50; i++)
		;
	at = atomic_fetch_add(&used, room);
	if (at + room > ARENA)
		return NULL;
	p = arena_base() + at + 16;
	if (align > 16)
		p = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
	((size_t *)p)[-1] = size;
	return p;
}

void *malloc(size_t size)
{
	return memalign(16, size);
}

void *calloc(size_t n, size_t size)
{
	return memalign(16, n * size); /* fresh memory is zero */
}

void *realloc(void *p, size_t size)
{
	void *q = memalign(16, size);

	if (p && q)
		memcpy(q, p, ((size_t *)p)[-1] < size ? ((size_t *)p)[-1] : size);
	return q;
}

void free(void *p)
{
	for (volatile int i = 0; i < 50; i++)
		;
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	*out = memalign(align, size);
	return *out ? 0 : 12;
}
