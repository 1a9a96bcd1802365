/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.c - finds the next allocator, and serves dlsym's own allocations until it is found.
 *
 * dlsym may allocate before it has returned the address of malloc. Such requests are served from
 * the boot arena: one reserved range with bump allocation. Its blocks are never freed and are not
 * events: the recorder caused them, not the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "record/arch/syscall.h"
#include "record/interpose/elf_lookup.h"
#include "record/interpose/next.h"
#include "record/session/recorder.h"

/* Defined in programs that were linked by our packages, see link_shim.c. */
extern const char heaplapse_first __attribute__((weak, visibility("default")));

uintptr_t hl_boot_base;
static size_t boot_used;
/* Volatile: dlsym is declared as a leaf function that never calls back into this file, but
 * it does. */
static volatile bool resolving;

/* The size of each block is in the 16 bytes before it. */
static void *boot_alloc(size_t align, size_t size)
{
	size_t at;

	if (!hl_boot_base) {
		long p = hl_sys6(SYS_mmap, 0, HL_BOOT_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p < 0 && p > -4096)
			return NULL;
		hl_boot_base = (uintptr_t)p;
	}
	if (align < 16)
		align = 16;
	at = hl_align_up(hl_boot_base + boot_used + 16, align) - hl_boot_base;
	if (size > HL_BOOT_BYTES || at + size > HL_BOOT_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	boot_used = at + size;
	((size_t *)(hl_boot_base + at))[-2] = size;
	return (void *)(hl_boot_base + at);
}

size_t hl_boot_size(const void *p)
{
	return ((const size_t *)p)[-2];
}

static void *boot_malloc(size_t n)
{
	hl_next_resolve();
	return resolving ? boot_alloc(16, n) : hl_next.malloc(n);
}

static void *boot_calloc(size_t n, size_t size)
{
	size_t bytes;

	hl_next_resolve();
	if (!resolving)
		return hl_next.calloc(n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : boot_alloc(16, bytes);
}

static void *boot_realloc(void *p, size_t n)
{
	void *q;

	hl_next_resolve();
	if (!resolving)
		return hl_next.realloc(p, n);
	q = boot_alloc(16, n);
	if (q && p)
		memcpy(q, p, hl_min_u64(hl_boot_size(p), n));
	return q;
}

static void *boot_reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	hl_next_resolve();
	if (!resolving)
		return hl_next.reallocarray(p, n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : boot_realloc(p, bytes);
}

static void boot_free(void *p)
{
	hl_next_resolve();
	if (!resolving)
		hl_next.free(p);
}

static void boot_cfree(void *p)
{
	boot_free(p);
}

static void boot_free_sized(void *p, size_t size)
{
	boot_free(p);
}

static void boot_free_aligned_sized(void *p, size_t align, size_t size)
{
	boot_free(p);
}

static int boot_posix_memalign(void **out, size_t align, size_t size)
{
	void *p;

	hl_next_resolve();
	if (!resolving)
		return hl_next.posix_memalign(out, align, size);
	p = boot_alloc(align, size);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

static void *boot_aligned_alloc(size_t align, size_t size)
{
	hl_next_resolve();
	return resolving ? boot_alloc(align, size) : hl_next.aligned_alloc(align, size);
}

static void *boot_memalign(size_t align, size_t size)
{
	hl_next_resolve();
	return resolving ? boot_alloc(align, size) : hl_next.memalign(align, size);
}

static void *boot_valloc(size_t size)
{
	hl_next_resolve();
	return resolving ? boot_alloc(4096, size) : hl_next.valloc(size);
}

static void *boot_pvalloc(size_t size)
{
	hl_next_resolve();
	return resolving ? boot_alloc(4096, hl_align_up(size, 4096)) : hl_next.pvalloc(size);
}

static char *boot_strndup(const char *s, size_t n)
{
	size_t size;
	char *p;

	hl_next_resolve();
	if (!resolving)
		return hl_next.strndup(s, n);
	size = strnlen(s, n);
	p = boot_alloc(16, size + 1);
	if (p) {
		memcpy(p, s, size);
		p[size] = 0;
	}
	return p;
}

static char *boot_strdup(const char *s)
{
	hl_next_resolve();
	return resolving ? boot_strndup(s, SIZE_MAX) : hl_next.strdup(s);
}

struct hl_next hl_next = {
	.malloc = boot_malloc,
	.calloc = boot_calloc,
	.realloc = boot_realloc,
	.reallocarray = boot_reallocarray,
	.free = boot_free,
	.cfree = boot_cfree,
	.free_sized = boot_free_sized,
	.free_aligned_sized = boot_free_aligned_sized,
	.posix_memalign = boot_posix_memalign,
	.aligned_alloc = boot_aligned_alloc,
	.memalign = boot_memalign,
	.valloc = boot_valloc,
	.pvalloc = boot_pvalloc,
	.strdup = boot_strdup,
	.strndup = boot_strndup,
};

/* C23's sized frees may be missing in the next allocator: plain free accepts the same blocks. */
static void free_sized_by_free(void *p, size_t size)
{
	hl_next.owner_free(p);
}

static void free_aligned_sized_by_free(void *p, size_t align, size_t size)
{
	hl_next.owner_free(p);
}

static size_t usable_size_unknown(void *p)
{
	return 0;
}

/* As libc's reallocarray, which would call realloc through our hook. */
static void *reallocarray_by_realloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return hl_next.owner_realloc(p, bytes);
}

/* Finds out whether the next malloc is libc's own, whose functions never call one another through
 * our hooks. */
static void detect_foreign(void)
{
	struct dl_find_object next, libc;

	if (_dl_find_object((void *)(uintptr_t)hl_next.malloc, &next) != 0)
		return;
	if (_dl_find_object((void *)(uintptr_t)getauxval, &libc) == 0 &&
		libc.dlfo_link_map == next.dlfo_link_map)
		return;
	hl_next.foreign = true;
	hl_next.text_lo = (uintptr_t)next.dlfo_map_start;
	hl_next.text_hi = (uintptr_t)next.dlfo_map_end;
}

/*
 * The definition that a call of the program is bound to, searched from `where` on (RTLD_NEXT,
 * RTLD_DEFAULT). dlsym skips definitions whose version is not the default one, but the loader binds
 * references with libc's version to them; libc_malloc_debug.so has only such definitions. `first`
 * is the first definition of any version in the same range. Versions are compared by dlvsym, which
 * cannot fail for C functions: libc itself has each of them.
 */
static void *bind_symbol(void *where, const char *name, void *first)
{
	void *plain = dlsym(where, name);
	const char *version = strcmp(name, "aligned_alloc") ? HL_ARCH_LIBC_VERSION : "GLIBC_2.16";

	if (!first || first == plain || name[0] == '_') /* mangled: libstdc++'s versions */
		return plain;
	return dlvsym(where, name, version) == first ? first : plain;
}

static void *bind_next(const struct hl_next *r, const char *name)
{
	return bind_symbol(RTLD_NEXT, name, hl_elf_lookup_after(name, r->own_lo));
}

static void *bind_first(const char *name)
{
	return bind_symbol(RTLD_DEFAULT, name, hl_elf_lookup(name, 0, 0));
}

/* True if f is in the next allocator and that is not libc's. */
static bool is_in_next(uintptr_t f)
{
	return f >= hl_next.text_lo && f < hl_next.text_hi;
}

/* The program itself forwards all calls to us (link_shim.c). So we come before every other
 * allocator, and the next one is the first of them, even if it was loaded before us. */
static void find_linked_allocator(struct hl_next *r)
{
	struct dl_find_object program, next;
	void *malloc = hl_elf_lookup_except("malloc", r->own_lo, (uintptr_t)&heaplapse_first);

	if (_dl_find_object((void *)(uintptr_t)&heaplapse_first, &program) != 0 ||
		_dl_find_object(malloc, &next) != 0)
		return;
	r->linked = true;
	r->program_lo = (uintptr_t)program.dlfo_map_start;
	r->program_hi = (uintptr_t)program.dlfo_map_end;
	r->first_lo = (uintptr_t)next.dlfo_map_start;
	r->first_hi = (uintptr_t)next.dlfo_map_end;
}

/*
 * Finds our own image, and whether another allocator is bound before us. A malloc inside the
 * program itself proves nothing: in programs that are not position-independent it is a stub that
 * jumps to ours.
 */
static void find_own_image(struct hl_next *r)
{
	struct dl_find_object own, first;

	if (_dl_find_object((void *)(uintptr_t)find_own_image, &own) != 0)
		return;
	r->own_lo = (uintptr_t)own.dlfo_map_start;
	r->own_hi = (uintptr_t)own.dlfo_map_end;
	if (&heaplapse_first) {
		find_linked_allocator(r);
		return;
	}
	if (_dl_find_object(bind_first("malloc"), &first) != 0 ||
		first.dlfo_link_map == own.dlfo_link_map || !first.dlfo_link_map->l_name[0])
		return;
	r->shadowed = true;
	r->first_lo = (uintptr_t)first.dlfo_map_start;
	r->first_hi = (uintptr_t)first.dlfo_map_end;
}

/* The next function of a name. */
static void *find_next(const struct hl_next *r, const char *name)
{
	uintptr_t f = 0;

	if (r->linked)
		f = (uintptr_t)hl_elf_lookup_except(name, r->own_lo, r->program_lo);
	return f && f >= r->first_lo && f < r->first_hi ? (void *)f : bind_next(r, name);
}

/*
 * A function that may be missing. Not found by dlsym: its failure would leave an error message,
 * which the next dlsym frees. That call may be the first one in a wrapper's own free, which looks
 * up the next.
 */
static void *find_next_optional(const struct hl_next *r, const char *name)
{
	return r->linked ? hl_elf_lookup_except(name, r->own_lo, r->program_lo)
			 : hl_elf_lookup_after(name, r->own_lo);
}

/* In a program that is not position-independent, the address of a function may be that of a stub
 * that jumps to ours. */
static bool is_bound_to_us(const struct hl_next *r, const char *name)
{
	uintptr_t first = (uintptr_t)bind_first(name);
	struct dl_find_object object;

	if (first >= r->own_lo && first < r->own_hi)
		return true;
	if (first >= r->program_lo && first < r->program_hi)
		return true; /* link_shim.c, which forwards to us */
	if (_dl_find_object((void *)first, &object) != 0 || object.dlfo_link_map->l_name[0])
		return false;
	first = (uintptr_t)hl_elf_lookup(name, 0, 0); /* a stub is not a definition */
	return first >= r->own_lo && first < r->own_hi;
}

bool hl_next_is_bound_to_us(const char *name)
{
	return is_bound_to_us(&hl_next, name);
}

/*
 * If another allocator is bound before us, in LD_PRELOAD or in the program itself, we get the calls
 * that it forwards, if it is a wrapper, and calls of functions that it does not define. Some of
 * these are about its blocks.
 */
static void *find_owner(const struct hl_next *r, const char *name, void *next)
{
	return is_bound_to_us(r, name) ? next : bind_first(name);
}

hl_cold void hl_next_resolve(void)
{
	struct hl_next r = {0};

	if (resolving || hl_next.malloc != boot_malloc)
		return;
	resolving = true;
	hl_tls.busy = true; /* allocations of dlsym are not the program's */
	find_own_image(&r);
	r.malloc = find_next(&r, "malloc");
	r.calloc = find_next(&r, "calloc");
	r.realloc = find_next(&r, "realloc");
	r.reallocarray = find_next(&r, "reallocarray");
	r.free = find_next(&r, "free");
	r.cfree = find_next_optional(&r, "cfree");
	r.free_sized = find_next_optional(&r, "free_sized");
	r.free_aligned_sized = find_next_optional(&r, "free_aligned_sized");
	r.posix_memalign = find_next(&r, "posix_memalign");
	r.aligned_alloc = find_next(&r, "aligned_alloc");
	r.memalign = find_next(&r, "memalign");
	r.valloc = find_next(&r, "valloc");
	r.pvalloc = find_next(&r, "pvalloc");
	r.strdup = find_next(&r, "strdup");
	r.strndup = find_next(&r, "strndup");
	r.usable_size = find_next(&r, "malloc_usable_size");
	r.owner_realloc = find_owner(&r, "realloc", r.realloc);
	r.owner_free = find_owner(&r, "free", r.free);
	r.owner_differs = (void *)r.owner_realloc != (void *)r.realloc;
	r.cxx = find_next_optional(&r, "_Znwm") != NULL;
	if (!r.usable_size)
		r.usable_size = usable_size_unknown;
	if (!r.cfree || r.owner_differs)
		r.cfree = r.owner_free;
	if (!r.free_sized)
		r.free_sized = free_sized_by_free;
	if (!r.free_aligned_sized)
		r.free_aligned_sized = free_aligned_sized_by_free;
	hl_next = r;
	detect_foreign();
	/* Only the allocator's own reallocarray: another definition may belong to another allocator
	 * than realloc. */
	if (r.owner_differs || !is_in_next((uintptr_t)r.reallocarray))
		hl_next.reallocarray = reallocarray_by_realloc;
	hl_next.has_own_strdup = !r.owner_differs && is_in_next((uintptr_t)r.strdup) &&
				 is_in_next((uintptr_t)r.strndup);
	hl_tls.busy = false;
	resolving = false;
}

void *hl_next_find(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}
