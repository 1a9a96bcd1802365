/* SPDX-License-Identifier: Apache-2.0 */
/*
 * count_preload.c - counts the allocator calls that arrive below the recorder, independently of it.
 *
 * Preloaded after libheaplapse.so, so that it is the recorder's next allocator. It counts
 * successful calls in the same way as a trace, into a file "$COUNT_FILE.PID" that is mapped shared:
 * the count is in the file after each call, including the last, and nothing has to be written at
 * exit. Both sides see the same calls by construction (every call that the recorder passes on ends
 * here), so the totals must be exactly equal.
 *
 * Calls that libstdc++'s operators make go through the recorder a second time, nested, and are
 * counted here once, when they arrive. glibc only: its __libc_* names need no dlsym, which might
 * itself allocate.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void *__libc_valloc(size_t size);
extern void *__libc_pvalloc(size_t size);
extern void __libc_free(void *p);

void *memalign(size_t align, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);

/* The layout that exactness_test.py reads: three numbers, in this order. */
struct counts {
	_Atomic uint64_t allocations, bytes, frees;
};

static struct counts before_open; /* also used if there is no file */
static _Atomic(struct counts *) counts;

static void name_file(char *path, size_t room, const char *stem)
{
	char digits[24];
	char *p = digits + sizeof(digits);
	unsigned long pid = (unsigned long)getpid();
	size_t n = strlen(stem);

	*--p = 0;
	do
		*--p = (char)('0' + pid % 10);
	while (pid /= 10);
	if (n + 1 + strlen(p) >= room)
		_exit(98);
	memcpy(path, stem, n);
	path[n] = '.';
	strcpy(path + n + 1, p);
}

static struct counts *map_file(void)
{
	const char *stem = getenv("COUNT_FILE");
	struct counts *map;
	char path[4096];
	int fd;

	if (!stem)
		return &before_open;
	name_file(path, sizeof(path), stem);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*map)))
		_exit(98);
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		_exit(98);
	return map;
}

/*
 * The first calls come from the loader, before any constructor and before getenv() works. They are
 * counted in before_open and added when the file is mapped. There is only one thread at that time,
 * so there is no race.
 */
__attribute__((constructor(101))) static void start(void)
{
	int err = errno;
	struct counts *map = map_file();

	if (map != &before_open) {
		atomic_fetch_add(&map->allocations, before_open.allocations);
		atomic_fetch_add(&map->bytes, before_open.bytes);
		atomic_fetch_add(&map->frees, before_open.frees);
	}
	atomic_store(&counts, map);
	errno = err;
}

static struct counts *current_counts(void)
{
	struct counts *c = atomic_load_explicit(&counts, memory_order_relaxed);

	return c ? c : &before_open;
}

static void *count_alloc(void *p, size_t bytes)
{
	struct counts *c = current_counts();

	if (!p)
		return p;
	atomic_fetch_add_explicit(&c->allocations, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&c->bytes, bytes, memory_order_relaxed);
	return p;
}

static void count_free(void)
{
	atomic_fetch_add_explicit(&current_counts()->frees, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
	return count_alloc(__libc_malloc(size), size);
}

void *calloc(size_t n, size_t size)
{
	return count_alloc(__libc_calloc(n, size), n * size);
}

void *realloc(void *old, size_t size)
{
	void *p = __libc_realloc(old, size);

	/* The old block is freed if there is a new one, or if the requested size is 0. */
	if (old && (p || size == 0))
		count_free();
	return count_alloc(p, size);
}

void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

void *memalign(size_t align, size_t size)
{
	return count_alloc(__libc_memalign(align, size), size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *p;

	if (align % sizeof(void *) || align == 0 || (align & (align - 1)))
		return EINVAL;
	p = memalign(align, size);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

void *valloc(size_t size)
{
	return count_alloc(__libc_valloc(size), size);
}

void *pvalloc(size_t size)
{
	return count_alloc(__libc_pvalloc(size), size);
}

void free(void *p)
{
	if (p)
		count_free();
	__libc_free(p);
}
