/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest.h - "did you mean": finds the names that are most similar to a word, by edit distance and
 * by common parts.
 */
#ifndef HL_UTIL_NAMES_SUGGEST_H
#define HL_UTIL_NAMES_SUGGEST_H

#include <stddef.h>

/* Returns the name most similar to `word`, or NULL if none is similar. next(from, i) returns name
 * i, or NULL after the last. */
const char *hl_suggest(
	const char *word, const char *(*next)(const void *from, size_t i), const void *from);

#define HL_SUGGESTIONS_MAX 3

/* The most similar names of those that were added, best first. Zeroed: none. */
struct hl_suggestions {
	const char *names[HL_SUGGESTIONS_MAX]; /* of the caller */
	unsigned ranks[HL_SUGGESTIONS_MAX];
	size_t n;
};
/* Adds `name` if its part `key` is similar to the word. Equal names are added once; of equally
 * similar names the first in the order of strcmp() counts. */
void hl_suggestions_add(
	struct hl_suggestions *s, const char *word, const char *key, const char *name);

#endif
