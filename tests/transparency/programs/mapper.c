/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapper.c - maps, grows, moves and unmaps memory; prints the result of each call. Failing calls
 * print nothing. With "both": an mremap that keeps the old range; with another word: a munmap that
 * the kernel refuses, and its address.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static __attribute__((noinline)) void *map_here(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * Creates as many mappings as the kernel allows; then unmaps the middle of one, which would split
 * it.
 */
static int refused(void)
{
	size_t pages = (size_t)4 << 20;
	char *many = mmap(NULL, pages * 4096, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	     *three = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < pages; i += 2)
		if (mprotect(many + i * 4096, 4096, PROT_READ)) {
			if (munmap(three + 4096, 4096) == 0)
				return 6;
			munmap(many, pages * 4096);
			printf("%p\n", (void *)(three + 4096));
			return 0;
		}
	return 77;
}

/* The pages move, and the old range stays mapped. */
static int both(void)
{
	char *a = map_here(8192),
	     *b = mremap(a, 8192, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	if (b == MAP_FAILED)
		return 77;
	printf("%p\n", (void *)a);
	return 0;
}

int main(int argc, char **argv)
{
	char text[512], *a, *b, *c;
	int n;

	if (argc > 1 && strcmp(argv[1], "both") == 0)
		return both();
	if (argc > 1)
		return refused();
	a = map_here(40960);
	b = map_here(81920);
	c = mremap(b, 81920, 1638400, MREMAP_MAYMOVE);
	n = snprintf(text, sizeof(text), "mmap %p 40960\nmmap %p 81920\nmremap %p 1638400\n",
		(void *)a, (void *)b, (void *)c);
	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		return 1;
	if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 77, 0) != MAP_FAILED)
		return 2;
	if (mremap(a, 40960, 0, 0) != MAP_FAILED)
		return 3;
	if (munmap(a + 1, 4096) == 0 || munmap(a, 0) == 0)
		return 4;
	if (munmap((void *)(-(1L << 40) & ~4095L), 4096) == 0)
		return 5;
	munmap(a, 20480);
	munmap(c, 1638400);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "munmap %p 20480\nmunmap %p 1638400\n",
		(void *)a, (void *)c);
	fputs(text, stdout);
	return 0;
}
