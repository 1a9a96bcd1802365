/* mapper.c - maps, grows, moves and unmaps; prints what each call gave. Failing calls print
 * nothing. */
#include <stdio.h>
#include <sys/mman.h>

static __attribute__((noinline)) void *map_here(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
	char text[512];
	char *a = map_here(40960), *b = map_here(81920), *c;
	int n;

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
