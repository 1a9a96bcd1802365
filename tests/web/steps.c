/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - allocates what its input says, so that a test knows the heap at any moment. Its lines:
 * "alloc BYTES" keeps a block that step() makes, "free" frees the newest one, "churn N" makes and
 * frees N blocks of many sizes. It answers each line with "done".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *kept[1 << 16];
static size_t n_kept;

__attribute__((noinline)) static void *step(size_t bytes)
{
	void *block = malloc(bytes); /* LINE: step */

	if (block)
		memset(block, 1, bytes);
	return block;
}

static void churn(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		free(step(i * 7919 % 5003));
}

int main(void)
{
	static char in[4096], out[256];
	char line[64];

	/* No buffer of the library is a block of the heap. */
	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "alloc ", 6) == 0 && n_kept < sizeof(kept) / sizeof(kept[0]))
			kept[n_kept++] = step(strtoul(line + 6, NULL, 10)); /* LINE: main */
		else if (strncmp(line, "free", 4) == 0 && n_kept > 0)
			free(kept[--n_kept]);
		else if (strncmp(line, "churn ", 6) == 0)
			churn(strtoul(line + 6, NULL, 10));
		puts("done");
	}
	return 0;
}
