/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.h - the next allocator: the functions that our hooks call.
 *
 * They are found with RTLD_NEXT, never by libc's internal names: a program linked to another malloc
 * would crash. Every pointer starts at a function that resolves all of them first, so the hot path
 * has no test.
 */
#ifndef HL_RECORD_INTERPOSE_NEXT_H
#define HL_RECORD_INTERPOSE_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_next {
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
	size_t (*usable_size)(void *); /* if there is none, it returns 0 for every block */
	/* The functions of the allocator that the program's blocks come from. It differs from the
	 * one above if another allocator is bound before us. */
	void *(*owner_realloc)(void *, size_t);
	void (*owner_free)(void *);
	bool has_own_strdup; /* the next allocator is not libc's and defines strdup and strndup */
	bool owner_differs;  /* the program's blocks are another allocator's: their calls are not
				recorded */
	/* Not libc's allocator: its functions may call one another through our hooks. */
	bool foreign;
	bool cxx;      /* an operator new exists after us in load order from the start */
	bool shadowed; /* another allocator is bound before us and gets the program's calls */
	bool linked; /* the program contains link_shim.c: its calls come here, whatever allocator is
			loaded before us */
	uintptr_t first_lo, first_hi;     /* shadowed: the one before us; linked: the one to call */
	uintptr_t program_lo, program_hi; /* linked: the program itself */
	uintptr_t text_lo, text_hi;       /* the next allocator, if foreign */
	uintptr_t own_lo, own_hi;         /* libheaplapse.so itself */
};
extern struct hl_next hl_next;

void hl_next_resolve(void);

/* The boot arena: blocks that were handed out while dlsym itself allocated. They are never
 * freed. */
extern uintptr_t hl_boot_base;
#define HL_BOOT_BYTES (1u << 20)

static inline bool hl_boot_owns(const void *p)
{
	return (uintptr_t)p - hl_boot_base < HL_BOOT_BYTES && hl_boot_base;
}
size_t hl_boot_size(const void *p);

/* True if calls of this name are bound to our hook. Not if the program or a library before us
 * defines it. */
bool hl_next_is_bound_to_us(const char *name);

/* The next definition of a name after ours; NULL if there is none. Not to be called after main has
 * begun: it takes the loader's lock. */
void *hl_next_find(const char *name);

#endif
