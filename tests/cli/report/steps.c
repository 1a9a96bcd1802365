/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - grows by known steps: for each line of its input it allocates BLOCKS blocks of BYTES
 * bytes and answers with the number of steps. "x" frees the blocks of the last step; "e" calls exec
 * on itself. Without a line it does nothing. No call of libc in between allocates.
 *
 *	steps BLOCKS BYTES
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void **make_blocks(long n, size_t bytes)
{
	void **blocks = malloc((size_t)n * sizeof(*blocks));

	for (long i = 0; i < n; i++)
		blocks[i] = malloc(bytes);
	return blocks;
}

static void free_blocks(void **blocks, long n)
{
	for (long i = 0; i < n; i++)
		free(blocks[i]);
	free(blocks);
}

/* printf would allocate a buffer. */
static int write_number(unsigned n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u\n", n);

	return write(STDOUT_FILENO, text, (size_t)len) == len;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[1]) : 10;
	size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 100;
	unsigned steps = 0;
	void **last = NULL;
	char c;

	while (read(STDIN_FILENO, &c, 1) == 1) {
		if (c == 'e')
			execv("/proc/self/exe", argv);
		if (c != '\n' && c != 'x')
			continue;
		if (c == 'x') {
			free_blocks(last, n);
			last = NULL;
		} else {
			last = make_blocks(n, bytes);
		}
		if (!write_number(++steps))
			return 1;
	}
	return 0;
}
