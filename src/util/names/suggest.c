/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest.c - see suggest.h.
 */
#include "util/names/suggest.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

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

/* One more than the largest distance that is accepted for a word. */
static unsigned distance_limit(const char *word)
{
	size_t len = strlen(word);

	return len < 3 ? 2 : len < 6 ? 3 : 4;
}

const char *hl_suggest(
	const char *word, const char *(*next)(const void *from, size_t i), const void *from)
{
	const char *best = NULL, *name;
	size_t len = strlen(word);
	unsigned best_distance = distance_limit(word);

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

/* --- several suggestions --- */

#define NO_RANK UINT_MAX
/* A shorter word is part of too many names. */
#define PART_MIN 3

/* One name contains the other: the less they differ in length the better. */
static unsigned part_rank(const char *word, const char *key)
{
	size_t a = strlen(word), b = strlen(key), longer = a > b ? a : b, shorter = a > b ? b : a;

	if (shorter < PART_MIN || !strcasestr(a > b ? word : key, a > b ? key : word))
		return NO_RANK;
	return 1 + (unsigned)(longer - shorter < 100 ? longer - shorter : 100);
}

static unsigned rank_of(const char *word, const char *key)
{
	unsigned part, distance;

	if (strcasecmp(word, key) == 0)
		return 0;
	part = part_rank(word, key);
	if (!*word || !*key || strlen(word) > WORD_MAX || strlen(key) > WORD_MAX)
		return part;
	distance = edit_distance(word, key);
	return distance < distance_limit(word) && distance < part ? distance : part;
}

static bool comes_before(unsigned rank, const char *name, unsigned other_rank, const char *other)
{
	return rank != other_rank ? rank < other_rank : strcmp(name, other) < 0;
}

void hl_suggestions_add(
	struct hl_suggestions *s, const char *word, const char *key, const char *name)
{
	unsigned rank = rank_of(word, key);
	size_t at = s->n;

	if (rank == NO_RANK)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->names[i], name) == 0)
			return;
	}
	while (at > 0 && comes_before(rank, name, s->ranks[at - 1], s->names[at - 1]))
		at--;
	if (at == HL_SUGGESTIONS_MAX)
		return;
	s->n += s->n < HL_SUGGESTIONS_MAX;
	for (size_t i = s->n - 1; i > at; i--) {
		s->names[i] = s->names[i - 1];
		s->ranks[i] = s->ranks[i - 1];
	}
	s->names[at] = name;
	s->ranks[at] = rank;
}
