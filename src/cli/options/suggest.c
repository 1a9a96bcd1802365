/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest.c - "did you mean": finds the most similar of a few names by edit distance.
 */
#include <string.h>

#include "cli/cli.h"

#define WORD_MAX 40

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Counts insertions, deletions, replacements and swaps of adjacent characters. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	for (size_t i = 0; i <= la; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			unsigned v = min3(d[i - 1][j] + 1, d[i][j - 1] + 1,
				d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));

			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < v)
				v = d[i - 2][j - 2] + 1;
			d[i][j] = v;
		}
	}
	return d[la][lb];
}

const char *hl_suggest(
	const char *word, const char *(*next)(const void *from, size_t i), const void *from)
{
	const char *best = NULL, *name;
	size_t len = strlen(word);
	unsigned best_distance =
		len < 3   ? 2
		: len < 6 ? 3
			  : 4; /* one more than the largest distance that is accepted */

	if (len > WORD_MAX)
		return NULL;
	for (size_t i = 0; (name = next(from, i)) != NULL; i++) {
		unsigned d;

		if (strlen(name) > WORD_MAX)
			continue;
		/* A prefix of a longer name is more likely than a typing error in a short one. */
		d = len >= 2 && strncmp(word, name, len) == 0 ? 0 : edit_distance(word, name);
		if (d < best_distance) {
			best_distance = d;
			best = name;
		}
	}
	return best;
}
