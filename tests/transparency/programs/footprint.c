/* SPDX-License-Identifier: Apache-2.0 */
/*
 * footprint.c - maps, touches and unmaps known amounts of memory. After each step it sets a mark
 * with the name of the step, prints "STEP ADDRESS", and waits for a line.
 *
 *   footprint FILE       FILE is created, mapped and removed
 *   footprint many N     N mappings of a page, and one step
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <heaplapse.h>

#define PAGE  ((size_t)4096)
#define MIB   ((size_t)1 << 20)
#define ANON  (8 * MIB)
#define SHARE (2 * MIB)

static void step(const char *name, const void *p)
{
	char line[16];

	heaplapse_mark(name);
	free(malloc(1)); /* an event, so that the mark is not the last entry of its chunk */
	printf("%s %p\n", name, p);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		_exit(3);
}

/* A mapping of its own: those beside it have other permissions. */
static char *map_alone(size_t size, int fd)
{
	char *p = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(4);
	p += PAGE;
	if (mmap(p, size, PROT_READ | PROT_WRITE,
		    MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), fd, 0) != p)
		_exit(5);
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

static int map_many(size_t n)
{
	char *p = mmap(NULL, n * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < n && p != MAP_FAILED; i += 2)
		if (mprotect(p + i * PAGE, PAGE, PROT_READ | PROT_WRITE))
			return 77;
	step("many", p);
	return 0;
}

int main(int argc, char **argv)
{
	char *anon, *file;
	int fd;

	if (argc > 2)
		return map_many(strtoul(argv[2], NULL, 10));
	anon = map_alone(ANON, -1);
	step("mapped", anon);
	memset(anon, 1, 3 * MIB);
	step("touched", anon);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)SHARE))
		return 6;
	file = map_alone(SHARE, fd);
	memset(file, 1, MIB);
	unlink(argv[1]);
	step("file", file);
	munmap(anon, ANON / 2);
	step("cut", anon + ANON / 2);
	munmap(anon + ANON / 2, ANON / 2);
	step("unmapped", anon);
	return 0;
}
