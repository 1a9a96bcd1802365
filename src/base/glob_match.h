/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob_match.h - file name patterns: * any text, ? one byte, [a-z] [!a-z] one byte of a set. An
 * unclosed [ stands for itself. No call of libc: it runs in the program as well.
 */
#ifndef HL_BASE_GLOB_MATCH_H
#define HL_BASE_GLOB_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the set at p, which begins with [, and whether c is in it; 0: it is not
 * closed before `end`. */
static inline size_t hl_glob_set(const char *p, const char *end, char c, bool *found)
{
	const char *at = p + 1;
	bool negated = at < end && *at == '!', in = false;

	at += negated;
	for (const char *first = at; at < end && (at == first || *at != ']'); at++) {
		char low = *at, high = low;

		if (at + 2 < end && at[1] == '-' && at[2] != ']') {
			high = at[2];
			at += 2;
		}
		in |= (unsigned char)low <= (unsigned char)c &&
		      (unsigned char)c <= (unsigned char)high;
	}
	*found = in != negated;
	return at < end ? (size_t)(at + 1 - p) : 0;
}

/* True if the whole name matches the pattern [p, end). Time is at most the product of the lengths.
 */
static inline bool hl_glob_match(const char *p, const char *end, const char *name)
{
	const char *star = NULL, *after_star = NULL;

	while (*name) {
		bool in_set = false;
		size_t set = p < end && *p == '[' ? hl_glob_set(p, end, *name, &in_set) : 0;

		if (p < end && *p == '*') {
			star = ++p;
			after_star = name;
		} else if (p < end && (set ? in_set : *p == '?' || *p == *name)) {
			p += set ? set : 1;
			name++;
		} else if (star) {
			p = star;
			name = ++after_star;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

/* True if the name matches one of the patterns of a list that is separated by commas. */
static inline bool hl_glob_list_match(const char *list, const char *name)
{
	for (;;) {
		const char *end = list;

		while (*end && *end != ',')
			end++;
		if (end > list && hl_glob_match(list, end, name))
			return true;
		if (!*end)
			return false;
		list = end + 1;
	}
}

#endif
