/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pooled.c - two pools of the program's own and the calls of a program prepared for heaptrack, in
 * scopes. Prints the expected values: lines of POOL, TAG, blocks and bytes allocated, and still
 * live.
 *
 * The first block of a pool has the address of the heap block that contains the pool.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heaplapse.h"

/* As heaptrack_api.h declares them. */
__attribute__((weak)) extern void heaptrack_report_alloc(void *ptr, size_t size);
__attribute__((weak)) extern void heaptrack_report_realloc(
	void *ptr_in, size_t size, void *ptr_out);
__attribute__((weak)) extern void heaptrack_report_free(void *ptr);

#define BLOCKS 1000

static void use(const char *pool, const char *tag, size_t size)
{
	char *memory = malloc(BLOCKS * size);
	size_t left = 0;

	heaplapse_tag_push(tag);
	for (size_t i = 0; i < BLOCKS; i++)
		heaplapse_alloc(pool, memory + i * size, size);
	heaplapse_tag_pop();
	for (size_t i = 0; i < BLOCKS; i++) {
		if (i % 3)
			heaplapse_free(pool, memory + i * size);
		else
			left++;
	}
	heaplapse_free(pool, memory + size); /* already freed */
	heaplapse_free(pool, NULL);
	printf("%s\t%s\t%d\t%zu\t%zu\t%zu\n", pool, tag, BLOCKS, BLOCKS * size, left, left * size);
}

static void use_heaptrack(void)
{
	static char memory[300];

	if (!heaptrack_report_alloc || !heaptrack_report_realloc || !heaptrack_report_free)
		return;
	heaptrack_report_alloc(memory, 100);
	heaptrack_report_alloc(memory + 100, 50);
	heaptrack_report_realloc(memory + 100, 60, memory + 200);
	heaptrack_report_free(memory);
	printf("heaptrack_report\t[no tag]\t3\t210\t1\t60\n");
}

int main(void)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	use("arena", "a", 64);
	use("arena", "b", 32);
	use("slab of pages", "a", 4096);
	use_heaptrack();
	return 0;
}
