/*
 * real.c - finds the next allocator, and feeds dlsym until it is found.
 *
 * dlsym may allocate before it has told us where malloc is. Those requests are met from the boot
 * arena: one reserved range, bump allocation, blocks that are never given back and are no events:
 * we caused them, not the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "record/arch/syscall.h"
#include "record/lookup.h"
#include "record/real.h"
#include "record/recorder.h"

/* In programs that are linked by our packages, see first.c. */
extern const char heaplapse_first __attribute__((weak, visibility("default")));

uintptr_t hl_boot_base;
static size_t boot_used;
/* Volatile: dlsym is declared as a leaf that never calls back into this file, and it does. */
static volatile bool resolving;

/* Each block has its size in the 16 bytes before it. */
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
	hl_real_resolve();
	return resolving ? boot_alloc(16, n) : hl_real.malloc(n);
}

static void *boot_calloc(size_t n, size_t size)
{
	size_t bytes;

	hl_real_resolve();
	if (!resolving)
		return hl_real.calloc(n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : boot_alloc(16, bytes);
}

static void *boot_realloc(void *p, size_t n)
{
	void *q;

	hl_real_resolve();
	if (!resolving)
		return hl_real.realloc(p, n);
	q = boot_alloc(16, n);
	if (q && p)
		memcpy(q, p, hl_min_u64(hl_boot_size(p), n));
	return q;
}

static void *boot_reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	hl_real_resolve();
	if (!resolving)
		return hl_real.reallocarray(p, n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : boot_realloc(p, bytes);
}

static void boot_free(void *p)
{
	hl_real_resolve();
	if (!resolving)
		hl_real.free(p);
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

	hl_real_resolve();
	if (!resolving)
		return hl_real.posix_memalign(out, align, size);
	p = boot_alloc(align, size);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

static void *boot_aligned_alloc(size_t align, size_t size)
{
	hl_real_resolve();
	return resolving ? boot_alloc(align, size) : hl_real.aligned_alloc(align, size);
}

static void *boot_memalign(size_t align, size_t size)
{
	hl_real_resolve();
	return resolving ? boot_alloc(align, size) : hl_real.memalign(align, size);
}

static void *boot_valloc(size_t size)
{
	hl_real_resolve();
	return resolving ? boot_alloc(4096, size) : hl_real.valloc(size);
}

static void *boot_pvalloc(size_t size)
{
	hl_real_resolve();
	return resolving ? boot_alloc(4096, hl_align_up(size, 4096)) : hl_real.pvalloc(size);
}

static char *boot_strndup(const char *s, size_t n)
{
	size_t size;
	char *p;

	hl_real_resolve();
	if (!resolving)
		return hl_real.strndup(s, n);
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
	hl_real_resolve();
	return resolving ? boot_strndup(s, SIZE_MAX) : hl_real.strdup(s);
}

struct hl_real hl_real = {
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

/* C23's sized frees may be missing below us: plain free takes the same blocks. */
static void free_sized_by_free(void *p, size_t size)
{
	hl_real.owner_free(p);
}

static void free_aligned_sized_by_free(void *p, size_t align, size_t size)
{
	hl_real.owner_free(p);
}

static size_t usable_size_unknown(void *p)
{
	return 0;
}

/* As libc's does, which would call realloc through us. */
static void *reallocarray_by_realloc(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return hl_real.owner_realloc(p, bytes);
}

/* Where we are, and whether the next malloc is libc's own, whose functions never call one another
 * through us. */
static void look_around(void)
{
	struct dl_find_object next, libc;

	if (_dl_find_object((void *)(uintptr_t)hl_real.malloc, &next) != 0)
		return;
	if (_dl_find_object((void *)(uintptr_t)getauxval, &libc) == 0 &&
		libc.dlfo_link_map == next.dlfo_link_map)
		return;
	hl_real.foreign = true;
	hl_real.text_lo = (uintptr_t)next.dlfo_map_start;
	hl_real.text_hi = (uintptr_t)next.dlfo_map_end;
}

/*
 * The definition that a call of the program's binds to, searched from `where` on (RTLD_NEXT,
 * RTLD_DEFAULT). dlsym skips definitions whose version is not the default one; the loader binds
 * references with libc's version to them. libc_malloc_debug.so has nothing else. `first` is the
 * first definition of any version in the same range. Versions are compared by dlvsym, which cannot
 * fail for C functions: libc itself has each of these.
 */
static void *bind(void *where, const char *name, void *first)
{
	void *plain = dlsym(where, name);
	const char *version = strcmp(name, "aligned_alloc") ? HL_ARCH_LIBC_VERSION : "GLIBC_2.16";

	if (!first || first == plain || name[0] == '_') /* mangled: libstdc++'s versions */
		return plain;
	return dlvsym(where, name, version) == first ? first : plain;
}

static void *bind_next(const struct hl_real *r, const char *name)
{
	return bind(RTLD_NEXT, name, hl_lookup_after(name, r->own_lo));
}

static void *bind_first(const char *name)
{
	return bind(RTLD_DEFAULT, name, hl_lookup(name, 0, 0));
}

/* Does it belong to the allocator below us, if that is not libc's? */
static bool is_next(uintptr_t f)
{
	return f >= hl_real.text_lo && f < hl_real.text_hi;
}

/*
 * The program itself leads all calls to us: we stand before every other allocator, and the next is
 * the first of them, though it may have been loaded before us.
 */
static void find_allocator(struct hl_real *r)
{
	struct dl_find_object program, next;
	void *malloc = hl_lookup_beyond("malloc", r->own_lo, (uintptr_t)&heaplapse_first);

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
 * Our own image, and whether another allocator stands before us. A malloc inside the program itself
 * says nothing: in programs that are not position-independent it is only a stub that leads to ours.
 */
static void find_ourselves(struct hl_real *r)
{
	struct dl_find_object own, first;

	if (_dl_find_object((void *)(uintptr_t)find_ourselves, &own) != 0)
		return;
	r->own_lo = (uintptr_t)own.dlfo_map_start;
	r->own_hi = (uintptr_t)own.dlfo_map_end;
	if (&heaplapse_first) {
		find_allocator(r);
		return;
	}
	if (_dl_find_object(bind_first("malloc"), &first) != 0 ||
		first.dlfo_link_map == own.dlfo_link_map || !first.dlfo_link_map->l_name[0])
		return;
	r->behind = true;
	r->first_lo = (uintptr_t)first.dlfo_map_start;
	r->first_hi = (uintptr_t)first.dlfo_map_end;
}

/* The next function of a name. */
static void *next(const struct hl_real *r, const char *name)
{
	uintptr_t f = 0;

	if (r->linked)
		f = (uintptr_t)hl_lookup_beyond(name, r->own_lo, r->program_lo);
	return f && f >= r->first_lo && f < r->first_hi ? (void *)f : bind_next(r, name);
}

/*
 * One that may be missing. Not by dlsym: its failure would leave a message, which the next dlsym
 * frees; that may be the first of a wrapper's own free, which asks for the next.
 */
static void *next_if_any(const struct hl_real *r, const char *name)
{
	return r->linked ? hl_lookup_beyond(name, r->own_lo, r->program_lo)
			 : hl_lookup_after(name, r->own_lo);
}

/* In a program that is not position-independent, an address of a function may be that of a stub
 * which leads to ours. */
static bool is_first(const struct hl_real *r, const char *name)
{
	uintptr_t first = (uintptr_t)bind_first(name);
	struct dl_find_object object;

	if (first >= r->own_lo && first < r->own_hi)
		return true;
	if (first >= r->program_lo && first < r->program_hi)
		return true; /* first.c, which leads to ours */
	if (_dl_find_object((void *)first, &object) != 0 || object.dlfo_link_map->l_name[0])
		return false;
	first = (uintptr_t)hl_lookup(name, 0, 0); /* a stub is no definition */
	return first >= r->own_lo && first < r->own_hi;
}

bool hl_real_is_first(const char *name)
{
	return is_first(&hl_real, name);
}

/*
 * Where another allocator stands before us, in LD_PRELOAD or in the program itself, what comes to
 * us is what it passes on, if it is a wrapper; and what it does not have, of which some means its
 * blocks.
 */
static void *owner(const struct hl_real *r, const char *name, void *next)
{
	return is_first(r, name) ? next : bind_first(name);
}

hl_cold void hl_real_resolve(void)
{
	struct hl_real r = {0};

	if (resolving || hl_real.malloc != boot_malloc)
		return;
	resolving = true;
	hl_tls.busy = true; /* what dlsym allocates for us is not the program's doing */
	find_ourselves(&r);
	r.malloc = next(&r, "malloc");
	r.calloc = next(&r, "calloc");
	r.realloc = next(&r, "realloc");
	r.reallocarray = next(&r, "reallocarray");
	r.free = next(&r, "free");
	r.cfree = next_if_any(&r, "cfree");
	r.free_sized = next_if_any(&r, "free_sized");
	r.free_aligned_sized = next_if_any(&r, "free_aligned_sized");
	r.posix_memalign = next(&r, "posix_memalign");
	r.aligned_alloc = next(&r, "aligned_alloc");
	r.memalign = next(&r, "memalign");
	r.valloc = next(&r, "valloc");
	r.pvalloc = next(&r, "pvalloc");
	r.strdup = next(&r, "strdup");
	r.strndup = next(&r, "strndup");
	r.usable_size = next(&r, "malloc_usable_size");
	r.owner_realloc = owner(&r, "realloc", r.realloc);
	r.owner_free = owner(&r, "free", r.free);
	r.aside = (void *)r.owner_realloc != (void *)r.realloc;
	r.cxx = next_if_any(&r, "_Znwm") != NULL;
	if (!r.usable_size)
		r.usable_size = usable_size_unknown;
	if (!r.cfree || r.aside)
		r.cfree = r.owner_free;
	if (!r.free_sized)
		r.free_sized = free_sized_by_free;
	if (!r.free_aligned_sized)
		r.free_aligned_sized = free_aligned_sized_by_free;
	hl_real = r;
	look_around();
	/* Only an allocator's own: the one we found may be of another family than realloc. */
	if (r.aside || !is_next((uintptr_t)r.reallocarray))
		hl_real.reallocarray = reallocarray_by_realloc;
	hl_real.copies = !r.aside && is_next((uintptr_t)r.strdup) && is_next((uintptr_t)r.strndup);
	hl_tls.busy = false;
	resolving = false;
}

void *hl_real_find(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}
