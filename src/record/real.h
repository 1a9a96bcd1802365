/*
 * real.h - the next allocator: what our hooks stand in front of.
 *
 * Found with RTLD_NEXT, never by libc's inner names: a program linked to another malloc would
 * crash. Every pointer starts at a function that resolves all of them first, so the hot path has no
 * test.
 */
#ifndef HL_RECORD_REAL_H
#define HL_RECORD_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	void (*cfree)(void *);
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	char *(*strdup)(const char *);
	char *(*strndup)(const char *, size_t);
	size_t (*usable_size)(void *); /* without one all blocks are 0 bytes */
	/* Whose blocks the program has: another's than the above when that one stands before us. */
	void *(*owner_realloc)(void *, size_t);
	void (*owner_free)(void *);
	bool copies; /* strdup and strndup are the next allocator's own, which is not libc's */
	bool aside; /* it is another's: what comes to us of such blocks is not ours to record */
	/* Not libc's: its functions may call one another through us. */
	bool foreign;
	bool cxx;    /* there is an operator new behind us from the start */
	bool behind; /* another allocator stands before us: the program's calls do not come here */
	bool linked; /* the program holds first.c: its calls come here, whatever stands before us */
	uintptr_t first_lo, first_hi; /* behind: that one; linked: the allocator we are to call */
	uintptr_t program_lo, program_hi; /* linked: the program itself */
	uintptr_t text_lo, text_hi;       /* of the next allocator, when foreign */
	uintptr_t own_lo, own_hi;         /* of libheaplapse.so itself */
};
extern struct hl_real hl_real;

void hl_real_resolve(void);

/* Blocks handed out while dlsym itself asked for memory. They are never given back. */
extern uintptr_t hl_boot_base;
#define HL_BOOT_BYTES (1u << 20)

static inline bool hl_boot_owns(const void *p)
{
	return (uintptr_t)p - hl_boot_base < HL_BOOT_BYTES && hl_boot_base;
}
size_t hl_boot_size(const void *p);

/* Do calls of the name come to us first? Not if the program, or a library before us, has one. */
bool hl_real_is_first(const char *name);

/* A function of the name from behind us, NULL if none. Not after main has begun: it takes the
 * loader's lock. */
void *hl_real_find(const char *name);

#endif
