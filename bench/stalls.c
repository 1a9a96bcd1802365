/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls.c - a program with many live blocks that replaces them at random and notes each
 * replacement that takes long.
 *
 * usage: stalls BLOCKS
 *
 * It prints "ready" when all blocks are live, and ends when its standard input does. Then it prints
 * each stall: its begin in nanoseconds of CLOCK_MONOTONIC, and its length.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STALL_NS   500000u
#define STALLS_MAX 65536u
#define CHECK_EACH 4096u /* replacements between two looks at standard input */

static struct {
	uint64_t begin_ns, length_ns;
} stalls[STALLS_MAX];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool input_ended(void)
{
	char c;

	return read(STDIN_FILENO, &c, 1) == 0;
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

static size_t replace_blocks(void **blocks, size_t n)
{
	uint32_t state = 2463534242u;
	uint64_t before = now_ns();
	size_t n_stalls = 0;

	for (uint64_t i = 1; i % CHECK_EACH != 0 || !input_ended(); i++) {
		void **block = &blocks[next_random(&state) % n];
		uint64_t after;

		free(*block);
		*block = malloc(16 + next_random(&state) % 200);
		after = now_ns();
		if (after - before >= STALL_NS && n_stalls < STALLS_MAX) {
			stalls[n_stalls].begin_ns = before;
			stalls[n_stalls++].length_ns = after - before;
		}
		before = after;
	}
	return n_stalls;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000, n_stalls;
	void **blocks = calloc(n + 1, sizeof(*blocks));

	if (!blocks || n == 0 || fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK))
		return 1;
	for (size_t i = 0; i < n; i++)
		blocks[i] = malloc(16 + i % 200);
	puts("ready");
	fflush(stdout);
	n_stalls = replace_blocks(blocks, n);
	for (size_t i = 0; i < n_stalls; i++)
		printf("%" PRIu64 " %" PRIu64 "\n", stalls[i].begin_ns, stalls[i].length_ns);
	return 0;
}
